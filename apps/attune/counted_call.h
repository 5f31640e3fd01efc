// Hardware counters of one call of a candidate.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"
#include "runtime/places.h"

namespace attune {

// For each kernel of a launch the values of `counters`, in their order; of the processor a launch
// is one kernel. Runs in this process on random operands, once before it counts, so the candidate
// has to be one that was verified. Fails, which is normal, where the device counts nothing for this
// process: kUnsupported if it never does.
Result<std::vector<std::vector<double>>> CountCall(const Place& place, const Problem& problem,
                                                   const Candidate& candidate,
                                                   const std::vector<std::string>& counters);

}  // namespace attune
