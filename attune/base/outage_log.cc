#include "attune/base/outage_log.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune {

void OutageLog::Tell(Outage& outage, std::string_view why) {
  outage.why = why;
  say_(fmt::format("{} It is tried again for {} s.", why, patience_.count() / 1000));
}

bool OutageLog::IsKnown(std::string_view what, const Status& failure) const {
  const bool is_away = failure.code() == StatusCode::kUnavailable;
  return std::any_of(outages_.begin(), outages_.end(), [&](const auto& other) {
    const Outage& outage = other.second;
    if (other.first == what) return false;
    return outage.why == failure.message() || (is_away && (outage.is_known || !outage.why.empty()));
  });
}

void OutageLog::Away(std::string_view what, std::string_view why, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  is_any_away_ = true;
  Outage& outage = outages_.try_emplace(std::string(what), Outage{now_ns, true, ""}).first->second;
  if (outage.why.empty() && now_ns - outage.begin_ns >= kLeastNs) Tell(outage, why);
}

void OutageLog::Fails(std::string_view what, const Status& failure, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  is_any_away_ = true;
  Outage& outage = outages_.try_emplace(std::string(what), Outage{now_ns, false, ""}).first->second;
  // A user that knows the cause reports it at its next attempt.
  const bool may_pass =
      failure.code() == StatusCode::kUnavailable && now_ns - outage.begin_ns < kLeastNs;
  if (outage.why.empty() && !may_pass && !IsKnown(what, failure)) Tell(outage, failure.message());
}

void OutageLog::There(std::string_view what, int64_t now_ns) {
  if (!is_any_away_) return;
  const std::lock_guard lock(mutex_);
  const auto found = outages_.find(what);
  if (found == outages_.end()) return;
  if (!found->second.why.empty()) {
    say_(fmt::format("{} is there again, after {:.1f} s.", what,
                     static_cast<double>(now_ns - found->second.begin_ns) / 1e9));
  }
  outages_.erase(found);
  is_any_away_ = !outages_.empty();
}

}  // namespace attune
