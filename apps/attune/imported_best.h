// `attune best --target` and `attune explain --target`: answers from imported databases, for GPUs
// that may be absent.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/record/record_store.h"

namespace attune::miopen {

struct ImportedQuestion {
  std::string target;  // "gfx906_60"
  bool all = false;    // Every candidate of each problem, not the quickest alone.
  bool json = false;
};

// kInvalidArgument if --session or --cache (empty: not given) goes with --target: imports are of no
// session, and do not tell of caches, so that neither could be heeded.
Status CheckImportsCanTell(const Application& application, const std::string& cache);

// Prints candidates of each problem, quickest first, with the file and the line that has them; the
// JSON always has all. Exit status 3 if some problem is not known.
Result<int> PrintImportedBest(Application& application, const ImportedQuestion& question,
                              const std::vector<TaggedProblem>& problems);

}  // namespace attune::miopen
