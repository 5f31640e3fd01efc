#include "attune/session/job_store.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace attune {
namespace {

using Span = std::pair<int64_t, int64_t>;

// How long at least one of `spans` lasts.
int64_t LengthOfUnion(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end());
  int64_t length = 0;
  int64_t end = 0;
  for (const auto& [from, to] : spans) {
    length += std::max<int64_t>(to - std::max(from, end), 0);
    end = std::max(end, to);
  }
  return length;
}

}  // namespace

int64_t JobCounts::Of(JobState state) const {
  int64_t count = 0;
  for (const auto& [step, by_state] : steps) count += by_state[static_cast<size_t>(state)];
  return count;
}

JobRate RateOf(const JobCounts& counts, int64_t now_unix_ns) {
  JobRate rate;
  std::vector<Span> spans;
  int64_t ended = 0;
  for (const auto& [owner, work] : counts.owners) {
    const bool is_at_work = work.deadline_unix_ns > now_unix_ns;
    rate.is_worked_on = rate.is_worked_on || is_at_work;
    if (work.ended == 0) continue;
    spans.emplace_back(work.first_ended_unix_ns,
                       is_at_work ? now_unix_ns : work.last_ended_unix_ns);
    // The first jobs to end were worked on before the span began.
    ended += work.ended - work.ended_first;
  }
  const int64_t worked_ns = LengthOfUnion(std::move(spans));
  if (worked_ns > 0)
    rate.per_second = static_cast<double>(ended) * 1e9 / static_cast<double>(worked_ns);
  return rate;
}

}  // namespace attune
