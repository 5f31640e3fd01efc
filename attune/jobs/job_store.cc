#include "attune/jobs/job_store.h"

namespace attune {

int64_t JobCounts::Of(JobState state) const {
  int64_t count = 0;
  for (const auto& [step, by_state] : steps) count += by_state[static_cast<size_t>(state)];
  return count;
}

}  // namespace attune
