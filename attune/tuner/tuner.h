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
  std::string searcher = "adaptive";  // For spaces larger than kExhaustiveSize; see MakeSearcher.
  uint64_t seed = 1;
  int64_t per_problem_ns = 2'000'000'000;
  // Maximum number of candidates, but every default is tried; 0: as many as the time allows.
  int64_t max_candidates = 0;
  CacheState cache = CacheState::kWarm;
  // OptionsFor() replaces a warm cache by rotating operands if memory limits the speed of a problem
  // (Operator::IsMemoryBound()) and the second-level cache of the device can hold the operands.
  bool rotates_streams = true;
  SelectOptions select;
  // Only solvers whose name contains one of these; empty means all. The default candidate always
  // takes part.
  std::vector<std::string> solver_filter;
  // Only solvers of these exact names, last resorts too; empty means as the filter says. The
  // default candidate always takes part.
  std::set<std::string> only_solvers = {};
  // The one config of each solver that takes part, or its default: nothing is searched. Empty:
  // everything is.
  std::map<std::string, Config> only_configs = {};
  // No solver that runs code of one of these takes part, not even for the default candidate: words
  // of solver names, by the rule of match_policy.h ("openblas", "conv-direct").
  std::set<std::string> excluded_libraries = {};
  // Number of candidates from a library's list on the device, best guess first; 0: all.
  int64_t max_listed = 0;
  // Limits of one candidate, in the race and again in the final.
  CandidateLimits limits = {};
  // Its rotation_bytes are above 0 exactly if `cache` is kRotating.
  EvaluationTerms terms = {};
  // Candidates that a model excludes do not run. The baseline and the earlier choice always run,
  // and so do all candidates without a model.
  PruneTerms prune = {};
  // The candidate that serves the problem without a measurement, from a neighbour or a model: tried
  // with the defaults, so that the result is no worse. Left out if its solver does not take part.
  std::optional<Candidate> served = std::nullopt;
  bool retry_quarantined = false;  // Retry candidates that crashed, hung or corrupted memory here.
  // Resume an interrupted tuning of the problem with these options (FindCutOff): its trials count,
  // also in the time of the problem, and are not repeated.
  bool goes_on = false;
};

// The options under which `problem` is measured on a device.
TuneOptions OptionsFor(TuneOptions options, const Problem& problem, const Target& target);

// Spaces up to this size are tried whole, with every searcher.
inline constexpr uint64_t kExhaustiveSize = 48;

// Progress of `Tune`; sent after each change.
struct TuneProgress {
  enum class Stage { kEnumerate, kWait, kReference, kQualify, kScreen, kFinal, kRecord };
  Stage stage = Stage::kEnumerate;
  int64_t considered = 0;  // Candidates asked for so far.
  int64_t qualified = 0;   // Built and verified.
  int64_t failed = 0;
  int64_t timed = 0;           // In the race.
  double reference_share = 0;  // Computed share of the reference, in [0, 1].
};
std::string_view Name(TuneProgress::Stage stage);

struct TuneReport {
  std::string set_id;
  std::optional<Choice> choice;  // Nothing if no candidate could be timed.
  int64_t considered = 0;
  int64_t qualified = 0;
  int64_t timed = 0;
  std::map<FailureKind, int64_t> failures;
  std::string first_failure;  // Message of the first failure; any bytes.
  int64_t quarantined = 0;    // Skipped because of an earlier fatal failure.
  int64_t taken_over = 0;     // Considered, tried by an interrupted tuning.
  int64_t pruned = 0;         // Not run, because of a model (TuneOptions::prune).
  int64_t wall_ns = 0;
  int64_t search_ns = 0;       // Part of wall_ns: asking for, building and verifying.
  int64_t busy_ns = 0;         // Part of wall_ns: building, verifying or measuring.
  int64_t device_busy_ns = 0;  // Part of wall_ns: launches of candidates, by the device clock.
  int64_t waited_ns = 0;       // Part of wall_ns: waiting for TunerParts::machine.
  std::string stop_reason;     // Why the race ended.
  bool is_steady = true;       // Final times of the default and the new choice: IsSteady.
  std::vector<std::string> held_back_by;  // Causes of throttling around the final: HeldBackBy.
  std::vector<std::string> notes;         // Omitted candidates and solvers, and why.
};

// Bounds that a run sets for a tuning.
struct TuneBounds {
  // Called while the reference is computed, and while other processes have the machine. May be
  // null.
  std::function<bool()> stop_requested;
  // End of the run, by the clock of the tuner; 0: never. No tuning waits longer for a turn. A
  // reference that is expected to take longer is given up, unless it takes no longer than a problem
  // has, or a second. For building and loading see TimeToQualify.
  int64_t end_ns = 0;
  // Maximum time of the problem, without waits for a turn; 0: no limit. A reference that is
  // expected to take longer is given up, and so are builds and loads while no candidate is ready.
  // REQUIRES: 0, or at least TuneOptions::per_problem_ns.
  int64_t longest_ns = 0;
};

// The environment of a tuner; everything is borrowed and outlives it.
struct TunerParts {
  const SolverList* solvers = nullptr;
  Target target;
  Environment environment;
  Peaks peaks;
  RecordStore* store = nullptr;
  Evaluator* evaluator = nullptr;
  Clock* clock = nullptr;
  MachineTurns* machine = nullptr;  // Null if no other process measures.
  // Transfer priors from `store`, of other devices and sizes, kept from problem to problem; null to
  // use none.
  OtherPlaces* other_places = nullptr;
  // Transfer priors from other runs.
  std::span<const PriorRecords> priors = {};
  // Models of the target; null if nothing is predicted.
  const CandidateModels* models = nullptr;
};

// Not thread-safe.
class Tuner {
 public:
  Tuner(TunerParts parts, TuneOptions options);

  // Solvers whose candidates are tried, the baseline first. kUnsupported if no solver applies, or
  // only last resorts that the filter does not name.
  Result<std::vector<const Solver*>> FindParticipants(const Problem& problem) const;

  bool Excludes(const Solver& solver) const;

  // The measurement sets of `problem` with a final, under the caches of the options, oldest first,
  // from all devices, decided or not.
  Result<std::vector<RecordedSet>> FindFinals(const Problem& problem) const;
  // The best choice of those `finals` that are valid here and rest on solvers that are not excluded
  // (SelectBest).
  std::optional<Choice> Select(std::span<const RecordedSet> finals) const;
  // The incumbent of `problem` here, from the records; nothing if no valid set has decided it.
  Result<std::optional<Choice>> FindStanding(const Problem& problem) const;

  // kInvalidArgument for options that contradict each other; kUnsupported if no solver takes part
  // or the problem cannot be checked; kDeadlineExceeded if `bounds` stopped it; kInternal if
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
  // True if it takes part beside the baseline.
  bool IsWanted(const Solver& solver) const;

  TunerParts parts_;
  TuneOptions options_;
};

}  // namespace attune
