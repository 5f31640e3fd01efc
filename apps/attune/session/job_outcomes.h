// Results of jobs, read from the records of their solvers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "attune/session/job.h"
#include "attune/space/config.h"
#include "attune/trial/candidate.h"

namespace attune {

// Error for a solver without any tried candidate.
inline constexpr std::string_view kNeverTried = "budget";

// For each of `jobs`, in order, an empty error if a candidate of its solver was built and verified
// in the set `set_id` of `records`; else the failure of the last one tried, or kNeverTried.
Result<std::vector<JobError>> OutcomesIn(RecordStore& records, const std::string& set_id,
                                         const std::vector<Job>& jobs);

// Where configs were searched.
struct SearchPlace {
  Problem problem;
  CacheState cache = CacheState::kWarm;
};

// For each of `solvers` the config that was the fastest in the newest set in which its space was
// searched, in the final if it came that far, and which did not fail there; nothing for one of
// which none is recorded. Sets that did not come to a final do not count.
Result<std::map<std::string, Config>> RecordedConfigs(RecordStore& records,
                                                      const SearchPlace& place,
                                                      const std::vector<SolverId>& solvers);

}  // namespace attune
