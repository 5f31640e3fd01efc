// Finds the best candidate for one problem within a budget: applicability, build, verify, measure,
// record.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/candidate_models.h"
#include "attune/measure/clock.h"
#include "attune/measure/race.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/solver/solver.h"
#include "attune/tuner/evaluator.h"
#include "attune/tuner/machine_turns.h"
#include "attune/tuner/other_places.h"
#include "attune/tuner/prior_records.h"
#include "attune/tuner/pruning.h"

namespace attune {

// Knobs of one tuning; values, so that a run can be repeated.
struct TuneOptions {
  std::string searcher = "adaptive";  // Of spaces larger than kExhaustiveSize; see MakeSearcher.
  uint64_t seed = 1;
  int64_t per_problem_ns = 2'000'000'000;
  // So many are tried at most, but every default is; 0: as many as there is time for.
  int64_t max_candidates = 0;
  CacheState cache = CacheState::kWarm;
  // OptionsFor() replaces a warm cache by rotating operands if memory limits the speed of a problem
  // (Operator::IsMemoryBound()) and the second-level cache of the device can hold the operands.
  bool rotates_streams = true;
  SelectOptions select;
  // Only solvers whose name contains one of these; empty means all. The default candidate always
  // takes part.
  std::vector<std::string> solver_filter;
  // Only solvers of these names, and no part of them, last resorts too; empty means what the filter
  // says. The default candidate always takes part.
  std::set<std::string> only_solvers = {};
  // Of each solver that takes part its one config here, or its default: nothing is searched. Empty:
  // everything is.
  std::map<std::string, Config> only_configs = {};
  // No solver that runs code of one of these takes part, not even for the default candidate: words
  // of solver names, by the rule of match_policy.h ("openblas", "conv-direct").
  std::set<std::string> excluded_libraries = {};
  // Of what a library lists on the device, best guess first, so many are candidates; 0: all.
  int64_t max_listed = 0;
  // Of one candidate, in the race and again in the final.
  CandidateLimits limits = {};
  // Its rotation_bytes are above 0 exactly if `cache` is kRotating.
  EvaluationTerms terms = {};
  // What is not run because of a model. The baseline and what was chosen before always are, and all
  // others of which there is no model.
  PruneTerms prune = {};
  // What serves the problem although nobody measured it there, the choice of a neighbour or of a
  // model: tried with the defaults, so that what is found is no worse. Left out if its solver does
  // not take part.
  std::optional<Candidate> served = std::nullopt;
  bool retry_quarantined = false;  // Try again what crashed, hung or corrupted memory here before.
  // Go on where a tuning of the problem with these options was cut off (FindCutOff): what it tried
  // counts, also in the time of the problem, and is not tried again.
  bool goes_on = false;
};

// The options under which `problem` is measured on a device.
TuneOptions OptionsFor(TuneOptions options, const Problem& problem, const Target& target);

// Spaces up to this size are tried whole, whatever the searcher.
inline constexpr uint64_t kExhaustiveSize = 48;

// Where `Tune` is; sent whenever something changed.
struct TuneProgress {
  enum class Stage { kEnumerate, kWait, kReference, kQualify, kScreen, kFinal, kRecord };
  Stage stage = Stage::kEnumerate;
  int64_t considered = 0;  // Candidates asked for so far.
  int64_t qualified = 0;   // Of these, built and verified.
  int64_t failed = 0;
  int64_t timed = 0;           // In the race.
  double reference_share = 0;  // Of the reference, in [0, 1]: what is computed.
};
std::string_view Name(TuneProgress::Stage stage);

struct TuneReport {
  std::string set_id;
  std::optional<Choice> choice;  // Nothing if no candidate could be timed.
  int64_t considered = 0;
  int64_t qualified = 0;
  int64_t timed = 0;
  std::map<FailureKind, int64_t> failures;
  std::string first_failure;  // What the first of them said; any bytes.
  int64_t quarantined = 0;    // Skipped because of an earlier fatal failure.
  int64_t taken_over = 0;     // Of those considered, tried by a tuning that was cut off.
  int64_t pruned = 0;         // Not run, because of a model (TuneOptions::prune).
  int64_t wall_ns = 0;
  int64_t search_ns = 0;       // Of it, asking for, building and verifying candidates.
  int64_t busy_ns = 0;         // Of it, building, verifying or measuring a candidate.
  int64_t device_busy_ns = 0;  // Of it, launches of candidates by the clock of the device.
  int64_t waited_ns = 0;       // Of it, for the turn of this process (TunerParts::machine).
  std::string stop_reason;     // Why the race ended.
  bool is_steady = true;       // The default's and the new choice's final times are: IsSteady.
  std::vector<std::string> held_back_by;  // What throttled the device around the final: HeldBackBy.
  std::vector<std::string> notes;         // What was left out on the way, and why.
};

// What the run that a tuning belongs to allows it.
struct TuneBounds {
  // Asked while the reference is computed, and while other processes have the machine. May be null.
  std::function<bool()> stop_requested;
  // When the run should be over, by the clock of the tuner; 0: never. Nobody waits longer for a
  // turn, and a reference is given up that is expected to take longer, unless that is no longer
  // than a problem has, or a second. For what is built and loaded see TimeToQualify.
  int64_t end_ns = 0;
  // So long the problem may take, without waits for a turn; 0: for ever. A reference is given up
  // that is expected to take longer, and so is what is built and loaded while nobody is ready.
  // REQUIRES: 0, or at least TuneOptions::per_problem_ns.
  int64_t longest_ns = 0;
};

// What a tuner works with; everything is borrowed and outlives it.
struct TunerParts {
  const SolverList* solvers = nullptr;
  Target target;
  Environment environment;
  Peaks peaks;
  RecordStore* store = nullptr;
  Evaluator* evaluator = nullptr;
  Clock* clock = nullptr;
  MachineTurns* machine = nullptr;  // Null where no other process measures.
  // What `store` knows of other devices and sizes, kept from problem to problem; null where nothing
  // of them is asked.
  OtherPlaces* other_places = nullptr;
  // What other runs know of the problems.
  std::span<const PriorRecords> priors = {};
  // Of the target; null where nothing is predicted.
  const CandidateModels* models = nullptr;
};

// Not thread-safe.
class Tuner {
 public:
  Tuner(TunerParts parts, TuneOptions options);

  // Those of which candidates are tried, the baseline first. kUnsupported if no solver applies, or
  // only last resorts that the filter does not name.
  Result<std::vector<const Solver*>> FindParticipants(const Problem& problem) const;

  bool Excludes(const Solver& solver) const;

  // The measurement sets of `problem` with a final, under the caches of the options, oldest first,
  // wherever they were measured and whether they decided or not.
  Result<std::vector<RecordedSet>> FindFinals(const Problem& problem) const;
  // The best by those of `finals` that hold here and rest on solvers that are not excluded
  // (SelectBest).
  std::optional<Choice> Select(std::span<const RecordedSet> finals) const;
  // What the records say is best for `problem` here; nothing if no valid set has decided it.
  Result<std::optional<Choice>> FindStanding(const Problem& problem) const;

  // kInvalidArgument for options that contradict each other; kUnsupported if nobody takes part or
  // the problem cannot be checked; kDeadlineExceeded if `bounds` stopped it; kInternal if
  // candidates cannot be evaluated; every other code is the store's. Every trial is stored before
  // this returns; stages are stored as they end, so that an interruption loses nothing that was
  // appended.
  using Listener = std::function<void(const TuneProgress&)>;
  Result<TuneReport> Tune(const Problem& problem, const Listener& listener = nullptr,
                          const TuneBounds& bounds = {});

  // Recorded with every set from now on.
  void SetPeaks(const Peaks& peaks) { parts_.peaks = peaks; }

  const TuneOptions& options() const { return options_; }
  const TunerParts& parts() const { return parts_; }

 private:
  // Solvers that apply and are not excluded, best first, and why the others are not among them.
  struct Applicability {
    std::vector<const Solver*> solvers;
    std::vector<std::pair<const Solver*, Status>> refused;
  };
  Applicability FindSolvers(const Problem& problem) const;
  bool IsNamed(const Solver& solver) const;
  // Whether it takes part beside the baseline.
  bool IsWanted(const Solver& solver) const;

  TunerParts parts_;
  TuneOptions options_;
};

}  // namespace attune
