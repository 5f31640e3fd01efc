// Candidates that failed fatally before and are not tried again.
#pragma once

#include <map>
#include <string>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"

namespace attune {

// True for failures that cost a process or memory: crash, hang, out of bounds, out of memory. A
// build error or a wrong result is cheap to reproduce and is not quarantined.
bool IsFatal(FailureKind kind);

// Returns every candidate whose newest records on `problem` are fatal failures and valid for
// (target, environment), with the newest such failure. A time-out, too much memory and a SIGKILL
// can be the machine's fault and count from the second time on. A later success clears a candidate,
// and so does an upgrade of the library that it calls.
Result<std::map<Candidate, Failure>> FindQuarantined(RecordStore& store, const Problem& problem,
                                                     const Target& target,
                                                     const Environment& environment,
                                                     const MatchPolicy& policy);

}  // namespace attune
