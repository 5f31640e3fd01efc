// `attune best --target`: what imported databases say, for GPUs that need not be here.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/record/record_store.h"

namespace attune::miopen {

// Prints the quickest candidate of each problem with the file and the line that has it; --json the
// others, too. Exit status 3 if some problem is not known.
Result<int> PrintImportedBest(Application& application, const std::string& target,
                              const std::vector<TaggedProblem>& problems, bool json);

}  // namespace attune::miopen
