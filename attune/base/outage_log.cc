#include "attune/base/outage_log.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune {

void OutageLog::Tell(Outage& outage, std::string_view why) {
  outage.why = why;
  say_(fmt::format("{} It is tried again for {} s.", why, patience_.count() / 1000));
}

bool OutageLog::IsKnown(const Status& failure) const {
  return std::any_of(outages_.begin(), outages_.end(), [&](const auto& other) {
    // Also where it is not told yet: who knows what is away tells it.
    return failure.code() == StatusCode::kUnavailable || other.second.why == failure.message();
  });
}

void OutageLog::Away(std::string_view what, std::string_view why, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  is_any_away_ = true;
  Outage& outage = outages_.try_emplace(std::string(what), Outage{now_ns, ""}).first->second;
  if (outage.why.empty() && now_ns - outage.begin_ns >= kLeastNs) Tell(outage, why);
}

void OutageLog::Fails(std::string_view what, const Status& failure, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  is_any_away_ = true;
  const bool is_known = IsKnown(failure);
  Outage& outage = outages_.try_emplace(std::string(what), Outage{now_ns, ""}).first->second;
  if (outage.why.empty() && !is_known) Tell(outage, failure.message());
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
