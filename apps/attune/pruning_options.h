// Options for pruning by a time model: --prune, --top and --time-model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/index/candidate_models.h"
#include "attune/record/record_store.h"
#include "attune/tuner/pruning.h"
#include "runtime/places.h"

namespace attune {

struct PruningOptions {
  bool prune = false;
  int64_t top = 0;   // 0: all.
  std::string file;  // Empty: of ATTUNE_TIME_MODELS, else beside the database.
};
void AddPruningOptions(CLI::App& verb, PruningOptions& options);

// kInvalidArgument for a model that nothing would be done with.
Status Check(const PruningOptions& options);

PruneTerms TermsOf(const PruningOptions& options);

// The models that `options` need for `problems` at `place`. kFailedPrecondition, with the reason,
// if they ask for something and there is no model of any of the problems; a file that is named and
// refused is an error in any case.
Result<CandidateModels> ReadModels(Application& application, const PruningOptions& options,
                                   const Place& place, const std::vector<TaggedProblem>& problems);

}  // namespace attune
