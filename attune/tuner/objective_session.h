// Tuning one problem for another objective than time, or for a front of two objectives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/measure/block_timer.h"
#include "attune/measure/figure_meter.h"
#include "attune/record/figure_store.h"
#include "attune/record/front.h"
#include "attune/record/select.h"
#include "attune/trial/figure.h"
#include "attune/tuner/batch_qualifier.h"
#include "attune/tuner/cut_off.h"
#include "attune/tuner/front_source.h"
#include "attune/tuner/tuner.h"

namespace attune {

// The objectives, and the source of their metrics.
struct Sought {
  std::vector<Objective> objectives;  // One or two.
  // Energy if it is an objective, and a source for each objective that is neither time nor energy,
  // in their order.
  MeterRequest meter;
};

struct ObjectiveReport {
  std::string set_id;
  int64_t considered = 0;
  int64_t taken_over = 0;  // Considered candidates that an interrupted tuning tried.
  int64_t qualified = 0;
  int64_t measured = 0;   // Qualified, with all metrics.
  bool is_whole = false;  // Nothing was left to try.
  std::map<FailureKind, int64_t> failures;
  std::string last_failure;  // Its message; empty without any.
  int64_t wall_ns = 0;
  int64_t rounds = 0;  // Rounds of the final.
  std::vector<std::string> notes;
};

// Used once. Candidates are qualified as in any tuning; then each is measured alone, one after the
// other, in a worker process that has the machine: its time, its energy over as many moves of the
// counter as EnergyTerms says, and its output. The searches get scalarised measurements
// (FrontSource). At the end those on the front run once more in interleaved rounds with the
// default. Candidates that an interrupted tuning has qualified or measured are not repeated. Every
// trial is kept with its metrics; the final ones make the front (FindFront). Where time is the
// first objective they also decide the choice, by the rules of any other tuning; where it is not,
// the set never decides that.
class ObjectiveSession {
 public:
  // Borrows everything.
  struct Parts {
    const TunerParts& tuner;
    const TuneOptions& options;
    FigureStore& figures;
    const Problem& problem;
    const Sought& sought;
  };
  ObjectiveSession(const Parts& parts, const Tuner::Listener& listener);

  // `standing` is the incumbent; it takes part where time is the first objective.
  void Challenge(Choice standing) { standing_ = std::move(standing); }

  // As Tuner::Tune. kUnsupported, before anything is tried, if the device cannot measure the
  // objectives, with what is missing.
  Result<ObjectiveReport> Run(const std::vector<const Solver*>& solvers, const TuneBounds& bounds);

 private:
  using Stage = TuneProgress::Stage;

  // A measured candidate.
  struct Measured {
    Trial qualified;  // Result of qualifying.
    int launches = 1;
    std::vector<double> values;  // One for each objective, in the search.
  };
  // Samples of one candidate, round by round.
  struct Lane {
    std::vector<double> times_ns;
    std::vector<std::vector<double>> values;  // By objective.
    std::optional<EnergyReading> energy;      // The last one.
    std::optional<Failure> failure;
  };

  Result<std::unique_ptr<MachineTurns::Turn>> TakeTurn(MachineUse use, const TuneBounds& bounds);
  Status Prepare(const TuneBounds& bounds);
  // Begins the set, with the results of an interrupted one.
  Status BeginSet();
  // Recalls measured candidates in the sets of `past` whose metrics are complete.
  Status RecallFigures(const CutOff& past);
  Status CheckMeter(BlockTimer& timer) const;
  Status Search(FrontSource& source, const TuneBounds& bounds);
  Status TryBatch(FrontSource& source, const std::vector<Candidate>& batch,
                  const TuneBounds& bounds);
  bool IsMeasured(const Candidate& candidate) const;
  void NoteFailure(const Failure& failure);
  // Returns those of `passed` that an interrupted tuning did not measure; takes the others.
  std::vector<Qualified> TakeKnown(FrontSource& source, const std::vector<Qualified>& passed);
  void Take(FrontSource& source, const Qualified& passed, std::vector<double> values);
  // Takes one sample of each of `passed` and passes it to the source.
  Status MeasureBatch(FrontSource& source, const std::vector<Qualified>& passed,
                      const TuneBounds& bounds);
  // The Pareto front of the measured candidates, the default first.
  std::vector<size_t> Finalists() const;
  Status RunFinal(const TuneBounds& bounds);
  // Adds a sample of candidate `index` to its lane, or a failure.
  void Sample(BlockTimer& timer, size_t index, int launches, Lane& lane) const;
  void RunRounds(BlockTimer& timer, const std::vector<size_t>& finalists, std::vector<Lane>& lanes);
  Status Keep(const Measured& measured, const Lane& lane, TrialRole role, bool is_default);
  Status Decide();
  bool TimeIsFirst() const { return sought_.objectives.front().name == kTimeObjective; }
  void Report(Stage stage);

  const TunerParts& parts_;
  const TuneOptions& options_;
  FigureStore& figures_;
  const Problem& problem_;
  const Sought& sought_;
  const Tuner::Listener& listener_;
  int64_t begin_ns_ = 0;
  int64_t end_ns_ = 0;
  int64_t search_end_ns_ = 0;
  std::optional<Choice> standing_;
  std::map<Candidate, Failure> quarantined_;
  BatchQualifier qualifier_;
  std::map<Candidate, std::vector<double>> known_;  // By an interrupted tuning.
  std::vector<Measured> measured_;
  std::vector<Candidate> defaults_;
  TuneProgress progress_;
  ObjectiveReport report_;
};

}  // namespace attune
