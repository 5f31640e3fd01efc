// Reports on things that attune waits for: once at the start of an outage, and once at its end.
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

// Thread-safe. Each user of a thing ("The database") reports the result of each attempt; several
// users may share a thing.
class OutageLog {
 public:
  using Say = std::function<void(const std::string& line)>;

  // A shorter absence is no outage: a connection that was cut and is made again at once.
  static constexpr int64_t kLeastNs = 500'000'000;

  // Any thread calls `say`. `patience` is how long the program waits for a thing, for messages.
  OutageLog(Say say, std::chrono::milliseconds patience)
      : say_(std::move(say)), patience_(patience) {}

  // `what` could not be used at `now_ns` (steady clock), and is waited for.
  void Away(std::string_view what, std::string_view why, int64_t now_ns);
  // The same for a user that only knows of a failure. Prints nothing if another report names the
  // cause; prints at once if `failure` is not kUnavailable (a full disk, a refusal).
  void Fails(std::string_view what, const Status& failure, int64_t now_ns);
  // `what` was used. Costs nothing while nothing is away.
  void There(std::string_view what, int64_t now_ns);

 private:
  struct Outage {
    int64_t begin_ns = 0;
    bool is_known = false;  // Set by Away().
    std::string why;        // True if a user of the thing itself reported it, by Away().
  };

  void Tell(Outage& outage, std::string_view why);
  // True if another thing than `what` reports, or is about to report, the reason of the failure.
  bool IsKnown(std::string_view what, const Status& failure) const;

  const Say say_;
  const std::chrono::milliseconds patience_;
  std::atomic<bool> is_any_away_{false};
  std::mutex mutex_;  // Guards outages_, and keeps lines in order.
  std::map<std::string, Outage, std::less<>> outages_;
};

}  // namespace attune
