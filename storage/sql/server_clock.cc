#include "storage/sql/server_clock.h"

namespace attune::sql {
namespace {

constexpr int64_t kAskEachNs = 60'000'000'000;

}  // namespace

Result<int64_t> ServerClock::UnixNs(int64_t steady_ns, const Ask& ask) {
  const std::lock_guard lock(mutex_);
  const bool is_due = !ahead_ns_.has_value() || steady_ns - asked_ns_ >= kAskEachNs;
  if (is_due) {
    const Result<int64_t> ahead_ns = ask();
    if (ahead_ns.ok()) {
      ahead_ns_ = *ahead_ns;
      asked_ns_ = steady_ns;
    } else if (!ahead_ns_.has_value()) {
      return ahead_ns.error();
    }
  }
  return steady_ns + *ahead_ns_;
}

}  // namespace attune::sql
