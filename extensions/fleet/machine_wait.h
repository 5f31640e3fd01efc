// Tells in the log of a worker why nothing happens while another process has the machine.
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

  // Its turn has not come; said once for each wait. `now_ns` is of the steady clock.
  void Waits(int64_t now_ns);
  // Its turn has come.
  void GoesOn(int64_t now_ns);
  // What waited has ended, whatever came of it.
  void Ends() { begin_ns_ = 0; }

 private:
  const std::function<void(const std::string& line)> say_;
  int64_t begin_ns_ = 0;  // 0 while nobody waits.
  bool has_said_ = false;
};

}  // namespace attune
