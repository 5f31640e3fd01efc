// What a tuning that was cut off had found out: the next one under the same terms goes on from
// there.
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
  // The newest that came of qualifying each candidate: failures, and who passed, if its quick time
  // is known. Failures of the race say nothing: there may have been nobody left to measure in.
  std::map<Candidate, Qualified> results;
  // The newest time of who was screened, nanoseconds of a launch.
  std::map<Candidate, double> screened_ns;
  // The time that it took to find the results: of each set, from its begin to the last that
  // qualified.
  int64_t searched_ns = 0;
  std::vector<std::string> set_ids;  // Of whom all this is, oldest first.
};

// Of the sets in `store` that did not come to a decision, since the last that did, and that were
// begun as `begins` would be now: with the same problem (which names the content of a user's
// kernel, the operands, their fills and the tolerance), target, cache state, seed, searcher and
// version of attune, and in the same environment but for facts about the host and the budgets of
// the problem. A set that sought something else than time has come to its decision with its final.
// Nothing if there are none. Fails as the store does.
Result<CutOff> FindCutOff(RecordStore& store, const MeasurementSet& begins);

// Leaves out who passed and did harm later: those of `quarantined`. `retries`: and who did harm at
// once (IsFatal), so that it is tried again.
void LeaveOut(const std::map<Candidate, Failure>& quarantined, bool retries, CutOff& past);

}  // namespace attune
