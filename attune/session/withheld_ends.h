// Records with sets that end with the jobs that they were measured for.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "attune/record/record_store.h"

namespace attune {

// A store that keeps everything in `records` but the ends of sets: FinishSet only notes them in
// `ends`, and the caller ends the sets with their jobs (JobReport::finishes_set). So no caller is
// served from a set that another worker's job has by then. Borrows both. Not thread-safe.
std::unique_ptr<RecordStore> WithholdEnds(RecordStore& records, std::set<std::string>& ends);

}  // namespace attune
