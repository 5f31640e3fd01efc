// Logs why a worker is idle while another process has the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace attune {

// Not thread-safe.
class MachineWait {
 public:
  // Longer than turns of short problems take, so that workers that share a machine say little.
  static constexpr int64_t kToldNs = 5'000'000'000;

  explicit MachineWait(std::function<void(const std::string& line)> say) : say_(std::move(say)) {}

  // The work waits for its turn; printed once per wait. `now_ns` is of the steady clock.
  void Waits(int64_t now_ns);
  // Its turn has come.
  void GoesOn(int64_t now_ns);
  // The waiting work has ended, with any result.
  void Ends() { begin_ns_ = 0; }

 private:
  const std::function<void(const std::string& line)> say_;
  int64_t begin_ns_ = 0;  // 0 when not waiting.
  bool has_said_ = false;
};

}  // namespace attune
