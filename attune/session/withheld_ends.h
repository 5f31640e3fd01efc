// Records whose sets end with the jobs that they were measured for.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "attune/record/record_store.h"

namespace attune {

// A store that keeps everything in `records` but the ends of sets: FinishSet only notes them in
// `ends`, for whoever ends them with their jobs (JobReport::finishes_set). So nobody is served from
// a set whose job is somebody else's by then. Borrows both. Not thread-safe.
std::unique_ptr<RecordStore> WithholdEnds(RecordStore& records, std::set<std::string>& ends);

}  // namespace attune
