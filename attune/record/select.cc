#include "attune/record/select.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "attune/measure/decision.h"

namespace attune {
namespace {

// The final measurements of a set, by use.
struct Finalists {
  const Trial* default_trial = nullptr;
  std::vector<const Trial*> others;
};

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

// The last result of each candidate counts: a repeated final replaces the one before, and a failure
// in any role rules the candidate out.
std::map<Candidate, const Trial*> LastWords(const RecordedSet& set) {
  std::map<Candidate, const Trial*> last;
  for (const Record& record : set.records) {
    const Trial& trial = record.trial;
    if (trial.role == TrialRole::kFinal || trial.failure() != nullptr) {
      last[trial.candidate] = &trial;
    }
  }
  return last;
}

Finalists FinalistsOf(const RecordedSet& set) {
  Finalists finalists;
  for (const auto& [candidate, trial] : LastWords(set)) {
    const Measurement* measurement = trial->measurement();
    if (measurement == nullptr || !IsCredible(*measurement, set.set.cache)) continue;
    if (trial->is_default) {
      finalists.default_trial = trial;
    } else {
      finalists.others.push_back(trial);
    }
  }
  return finalists;
}

Choice ChoiceOf(const MeasurementSet& set, const Trial& default_trial, const Trial& chosen) {
  Choice choice;
  choice.problem = set.problem;
  choice.target = set.target;
  choice.candidate = chosen.candidate;
  choice.provenance = &chosen == &default_trial ? Provenance::kDefault : Provenance::kMeasured;
  choice.measurement = *chosen.measurement();
  choice.default_candidate = default_trial.candidate;
  choice.default_measurement = *default_trial.measurement();
  choice.roofline_fraction =
      RooflineSeconds(set.problem, set.peaks) * 1e9 / choice.measurement.median_ns;
  choice.workspace_bytes = chosen.workspace_bytes;
  choice.set_id = set.id;
  return choice;
}

bool Exists(const SolverId& solver, std::span<const SolverId> known) {
  return known.empty() || std::find(known.begin(), known.end(), solver) != known.end();
}

// The place and the time at which a choice must be valid.
struct Here {
  const Target& target;
  const Environment& environment;
};

// Why `set` gives no choice here, or nothing if `choice` is set.
std::string Objection(const RecordedSet& recorded, const Choice& choice, const Here& here,
                      const MatchPolicy& policy, const SelectOptions& options) {
  const MeasurementSet& set = recorded.set;
  for (const Candidate* candidate : {&choice.default_candidate, &choice.candidate}) {
    if (!Exists(candidate->solver, options.known_solvers)) {
      return fmt::format("It names {}, and there is no solver {} here any more.", Text(*candidate),
                         Text(candidate->solver));
    }
    std::string mismatch =
        policy.Mismatch(*candidate, set.target, set.environment, here.target, here.environment);
    if (!mismatch.empty()) return mismatch;
  }
  if (options.allows && !options.allows(choice.problem, choice.candidate)) {
    return fmt::format("A constraint of this program refuses {}.", Text(choice.candidate));
  }
  return {};
}

}  // namespace

std::string_view Name(Provenance provenance) {
  switch (provenance) {
    case Provenance::kMeasured:
      return "measured";
    case Provenance::kDefault:
      return "default";
    case Provenance::kUntuned:
      return "untuned";
  }
  return "unknown";
}

bool IsCredible(const Measurement& measurement, CacheState cache) {
  return measurement.cache == cache && IsPositive(measurement.median_ns) &&
         !measurement.samples_ns.empty() &&
         std::all_of(measurement.samples_ns.begin(), measurement.samples_ns.end(), IsPositive);
}

double RelativeSpread(const Measurement& measurement) {
  if (!IsPositive(measurement.median_ns)) return std::numeric_limits<double>::infinity();
  return (measurement.high_ns - measurement.low_ns) / 2 / measurement.median_ns;
}

bool IsSteady(const Measurement& measurement) {
  return RelativeSpread(measurement) <= kMostSteadySpread;
}

std::optional<Choice> SelectWithin(const RecordedSet& set, const SelectOptions& options) {
  const Finalists finalists = FinalistsOf(set);
  if (finalists.default_trial == nullptr) return std::nullopt;
  std::vector<Measurement> measurements;
  for (const Trial* trial : finalists.others) measurements.push_back(*trial->measurement());
  const Decision decision = Decide(*finalists.default_trial->measurement(), measurements,
                                   options.margin, FinalConfidence(options.confidence));
  if (!decision.winner.has_value()) {
    Choice choice = ChoiceOf(set.set, *finalists.default_trial, *finalists.default_trial);
    choice.confidence = options.confidence;
    choice.doubt = decision.doubt;
    return choice;
  }
  Choice choice = ChoiceOf(set.set, *finalists.default_trial, *finalists.others[*decision.winner]);
  choice.speedup = decision.speedup.ratio;
  choice.speedup_low = decision.speedup.low;
  choice.speedup_high = decision.speedup.high;
  choice.confidence = decision.speedup.confidence;
  choice.doubt = decision.doubt;
  return choice;
}

bool WasSteady(const Choice& choice) {
  return IsSteady(choice.measurement) && IsSteady(choice.default_measurement);
}

namespace {

// Returns true if `choice` was measured on a quiet machine and `standing`, which ran in its final
// as `again`, was not.
bool IsQuieter(const Choice& choice, const Measurement& again, const Choice& standing,
               const SelectOptions& options) {
  const auto sure = [&](const Measurement& measurement) {
    return measurement.confidence >= options.confidence;
  };
  return !WasSteady(standing) && WasSteady(choice) && IsSteady(again) && sure(choice.measurement) &&
         sure(choice.default_measurement) && sure(again);
}

}  // namespace

bool Replaces(const RecordedSet& set, const Choice& standing, const SelectOptions& options) {
  const auto last_words = LastWords(set);
  const auto found = last_words.find(standing.candidate);
  if (found == last_words.end()) return false;
  const std::optional<Choice> choice = SelectWithin(set, options);
  if (!choice.has_value()) return false;
  const Measurement* again = found->second->measurement();
  if (again == nullptr) return true;
  if (!IsCredible(*again, set.set.cache)) return false;
  if (choice->doubt <= std::max(1.0, standing.doubt) * (1 + options.margin)) return true;
  if (IsQuieter(*choice, *again, standing, options)) return true;
  if (!IsSteady(choice->measurement)) return false;
  const RatioEstimate over_standing = PairedRatio(again->samples_ns, choice->measurement.samples_ns,
                                                  FinalConfidence(options.confidence));
  return over_standing.confidence >= FinalConfidence(options.confidence) &&
         over_standing.low >= 1 + options.margin;
}

std::optional<Choice> SelectBest(std::span<const RecordedSet> sets, const Target& here,
                                 const Environment& now, const SelectOptions& options,
                                 std::vector<std::string>* notes) {
  const MatchPolicy policy = MatchPolicy::Default();
  for (size_t i = sets.size(); i-- > 0;) {
    const RecordedSet& recorded = sets[i];
    std::string objection;
    std::optional<Choice> choice;
    if (!recorded.finished) {
      objection = "It is unfinished.";
    } else if (choice = SelectWithin(recorded, options); !choice.has_value()) {
      objection = "Its default has no final measurement.";
    } else {
      objection = Objection(recorded, *choice, {here, now}, policy, options);
    }
    if (objection.empty()) return choice;
    if (notes != nullptr) {
      notes->push_back(
          fmt::format("Measurement set {} is passed over. {}", recorded.set.id, objection));
    }
  }
  return std::nullopt;
}

}  // namespace attune
