#include "attune/tuner/evaluator.h"

#include <algorithm>

namespace attune {

void Append(BusyTime& to, BusyTime from) {
  to.intervals.insert(to.intervals.end(), from.intervals.begin(), from.intervals.end());
  to.of_device.insert(to.of_device.end(), from.of_device.begin(), from.of_device.end());
}

int64_t UnionLengthNs(std::vector<BusyInterval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const BusyInterval& a, const BusyInterval& b) { return a.begin_ns < b.begin_ns; });
  int64_t total_ns = 0;
  int64_t covered_until_ns = INT64_MIN;
  for (const BusyInterval& interval : intervals) {
    const int64_t begin_ns = std::max(interval.begin_ns, covered_until_ns);
    if (interval.end_ns <= begin_ns) continue;
    total_ns += interval.end_ns - begin_ns;
    covered_until_ns = interval.end_ns;
  }
  return total_ns;
}

Status EvaluationStatus(const Status& status) {
  const bool is_plain = status.ok() || status.code() == StatusCode::kUnsupported ||
                        status.code() == StatusCode::kDeadlineExceeded;
  return is_plain ? status : Internal(status.message());
}

int64_t VerifyNs(int64_t elapsed_ns, const Trial& qualified) {
  // What a compiler took may have been measured by another clock.
  return std::max<int64_t>(elapsed_ns - qualified.build_ns - qualified.load_ns, 0);
}

std::optional<Candidate> FirstPassed(std::span<const Qualified> results) {
  for (const Qualified& result : results) {
    if (result.trial.failure() == nullptr) return result.trial.candidate;
  }
  return std::nullopt;
}

}  // namespace attune
