#include "attune/tuner/new_set.h"

#include <string>

#include <fmt/format.h>

#include "attune/base/unix_time.h"
#include "attune/base/user_at_host.h"

namespace attune {
namespace {

constexpr const char* kAttuneVersion = ATTUNE_VERSION;

void NoteTerms(const TuneOptions& options, Environment& environment) {
  const EvaluationTerms& terms = options.terms;
  const auto note = [&](std::string_view name, int64_t value) {
    if (value > 0) environment[std::string(name)] = std::to_string(value);
  };
  // Also 0, the minimum.
  environment[std::string(kPerProblemTerm)] = std::to_string(options.per_problem_ns);
  note("tuning.rotation_bytes", terms.rotation_bytes);
  note("tuning.warm_up_launches", terms.warm_up_launches);
  note("tuning.warm_up_ns", terms.warm_up_ns);
  note("tuning.max_launches", options.limits.max_launches);
  note("tuning.max_time_ns", options.limits.max_time_ns);
  note("tuning.max_listed", options.max_listed);
  note(kMaxCandidatesTerm, options.max_candidates);
  if (!options.only_configs.empty()) environment[std::string(kSearchTerm)] = "find";
  if (terms.output_check.has_value()) {
    environment["tuning.output_check"] =
        fmt::format("{}_{}", terms.output_check->atol, terms.output_check->rtol);
  }
}

void NotePruning(const PruneTerms& terms, Environment& environment) {
  if (terms.factor > 0) environment["tuning.pruned_above"] = fmt::format("{}", terms.factor);
  if (terms.top > 0) environment["tuning.top"] = std::to_string(terms.top);
}

}  // namespace

MeasurementSet NewSet(const Problem& problem, const TunerParts& parts, const TuneOptions& options) {
  MeasurementSet set;
  set.id = NewSetId();
  set.problem = problem;
  set.target = parts.target;
  set.environment = parts.environment;
  set.peaks = parts.peaks;
  set.cache = options.cache;
  NoteTerms(options, set.environment);
  if (parts.models != nullptr && parts.models->For(problem) != nullptr) {
    NotePruning(options.prune, set.environment);
  }
  set.seed = options.seed;
  set.searcher = options.searcher;
  set.measured_by = UserAtHost();
  set.attune_version = kAttuneVersion;
  set.started_unix_ns = UnixNowNs();
  return set;
}

}  // namespace attune
