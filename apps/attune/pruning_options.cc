#include "apps/attune/pruning_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/base/process_variables.h"
#include "attune/index/model_origin.h"
#include "runtime/launches_at.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// At 1 the ranges of nine of ten times do not meet.
constexpr double kWhatMayWin = 1;
constexpr int64_t kMostAtTop = 1'000'000;

Result<ModelLocation> LocationOf(Application& application, const PruningOptions& options) {
  ModelLocation location;
  if (!options.file.empty()) {
    location.files = {options.file};
    return location;
  }
  if (const auto named = ValueOf(VariablesOfProcess(), "ATTUNE_TIME_MODELS")) {
    location.files = PathsIn(*named);
    return location;
  }
  ATTUNE_ASSIGN_OR_RETURN(location.database, application.DatabasePath());
  if (IsOnServer(location.database)) location.database.clear();
  return location;
}

}  // namespace

void AddPruningOptions(CLI::App& verb, PruningOptions& options) {
  verb.add_flag(
      "--prune", options.prune,
      "Measure only what may win: not what a model of time expects to take longer, by its "
      "range of nine of ten times, than the best takes at most");
  verb.add_option("--top", options.top,
                  "Measure only the K candidates that the model expects to be the quickest, beside "
                  "the default and what was chosen before")
      ->check(CLI::Range(int64_t{1}, kMostAtTop))
      ->type_name("K");
  verb.add_option("--time-model", options.file,
                  "The model of --prune and --top, as 'attune model fit' writes it (default: of "
                  "ATTUNE_TIME_MODELS, else that of the device beside the database)")
      ->type_name("FILE");
}

Status Check(const PruningOptions& options) {
  if (options.file.empty() || options.prune || options.top > 0) return Status::Ok();
  return InvalidArgument("--time-model is for --prune or --top: give one of them.");
}

PruneTerms TermsOf(const PruningOptions& options) {
  return {options.prune ? kWhatMayWin : 0, static_cast<size_t>(options.top)};
}

Result<CandidateModels> ReadModels(Application& application, const PruningOptions& options,
                                   const Place& place, const std::vector<TaggedProblem>& problems) {
  if (TermsOf(options).none()) return CandidateModels();
  ATTUNE_ASSIGN_OR_RETURN(const ModelLocation location, LocationOf(application, options));
  CandidateModels models(location, OriginOf(place.target, place.environment), LaunchesAt(place));
  if (!models.refusals().empty()) return models.refusals().front();
  const bool has_one = std::ranges::any_of(
      problems, [&](const TaggedProblem& tagged) { return models.For(tagged.problem) != nullptr; });
  if (has_one || problems.empty()) return models;
  return FailedPrecondition(
      fmt::format("--prune and --top ask a model of time, and there is none of {} on '{}' with its "
                  "libraries. 'attune model fit --device {} --operator {}' makes one of what was "
                  "measured.",
                  OperatorName(problems.front().problem), Text(place.target), place.device_spec,
                  OperatorName(problems.front().problem)));
}

}  // namespace attune
