// What is said of something that is waited for: once that it is away, and once that it is there
// again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// Thread-safe. Whoever uses something ("The database") says of each attempt what came of it;
// several may use the same.
class OutageLog {
 public:
  using Say = std::function<void(const std::string& line)>;

  // What is away for less is no outage: a connection that was cut and is made again at once.
  static constexpr int64_t kLeastNs = 500'000'000;

  // `say` is called by any thread. `patience` is how long things are waited for, for people.
  OutageLog(Say say, std::chrono::milliseconds patience)
      : say_(std::move(say)), patience_(patience) {}

  // `what` could not be used at `now_ns` (steady clock), and is waited for.
  void Away(std::string_view what, std::string_view why, int64_t now_ns);
  // The same of whoever knows only that something failed, which is not said where it is known what
  // is away, and what is full or refused is said at once.
  void Fails(std::string_view what, const Status& failure, int64_t now_ns);
  // `what` was used. Costs nothing while nothing is away.
  void There(std::string_view what, int64_t now_ns);

 private:
  struct Outage {
    int64_t begin_ns = 0;
    bool is_known = false;  // By who uses what is away.
    std::string why;        // That was said; empty before.
  };

  void Tell(Outage& outage, std::string_view why);
  // Whether another than `what` tells, or is about to tell, why it fails.
  bool IsKnown(std::string_view what, const Status& failure) const;

  const Say say_;
  const std::chrono::milliseconds patience_;
  std::atomic<bool> is_any_away_{false};
  std::mutex mutex_;  // Guards outages_, and keeps lines in order.
  std::map<std::string, Outage, std::less<>> outages_;
};

}  // namespace attune
