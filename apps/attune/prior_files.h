// --prior: records of other runs, where the search of this one begins.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/attune/terminal.h"
#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "attune/tuner/prior_records.h"
#include "runtime/places.h"

namespace attune {

// kInvalidArgument where nothing would come of `files`: everything is tried in order, or something
// else than time is sought.
Status CheckPriors(const std::vector<std::string>& files, const std::string& searcher,
                   bool seeks_time);

// Reads each of `files`: a database of attune, or for a user's kernel the results of another tuner,
// T4 or a cache of Kernel Tuner (ReadTunerResults). kInvalidArgument names a file that holds
// nothing to try for any of `problems` at `place`, or is neither. `notes` gets a line for each file
// that lacks its end.
Result<std::vector<PriorRecords>> ReadPriors(const std::vector<std::string>& files,
                                             const Place& place,
                                             std::span<const TaggedProblem> problems,
                                             Output& notes);

}  // namespace attune
