// Results of an interrupted tuning: the next one under the same terms resumes from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record.h"
#include "attune/record/record_store.h"
#include "attune/trial/candidate.h"

namespace attune {

struct CutOff {
  // The newest result of qualifying each candidate: failures, and candidates that passed, if their
  // quick time is known. Failures of the race prove nothing: no worker process may have been left
  // to measure in.
  std::map<Candidate, Qualified> results;
  // The newest time of each screened candidate, nanoseconds of a launch.
  std::map<Candidate, double> screened_ns;
  // Time to find the results: of each set, from its start to the last qualified result.
  int64_t searched_ns = 0;
  std::vector<std::string> set_ids;  // Sets of these results, oldest first.
};

// Collects the sets in `store` without a decision, since the last one with a decision, that were
// begun as `begins` would be now: with the same problem (which names the content of a user's
// kernel, the operands, their fills and the tolerance), target, cache state, seed, searcher and
// version of attune, and in the same environment but for facts about the host and the budgets of
// the problem. A set with another objective than time is decided by its final. Nothing if there are
// none. Fails as the store does.
Result<CutOff> FindCutOff(RecordStore& store, const MeasurementSet& begins);

// Leaves out `quarantined` candidates that passed and did harm later. `retries`: also those that
// did harm at once (IsFatal), so that they are tried again.
void LeaveOut(const std::map<Candidate, Failure>& quarantined, bool retries, CutOff& past);

}  // namespace attune
