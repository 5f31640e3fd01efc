// The stages of tuning one problem, in order. Used once, by Tuner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/measure/decision.h"
#include "attune/measure/race.h"
#include "attune/record/select.h"
#include "attune/tuner/batch_qualifier.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/other_places.h"
#include "attune/tuner/session_timeline.h"
#include "attune/tuner/time_plan.h"
#include "attune/tuner/tuner.h"

namespace attune {

class TuningSession {
 public:
  // Borrows everything.
  TuningSession(const TunerParts& parts, const TuneOptions& options, const Problem& problem,
                const Tuner::Listener& listener);

  // `standing` is the incumbent. It takes part in every stage, and unless the new set is better
  // evidence (see Replaces) it stays. Before Run.
  void Challenge(Choice standing);

  // `served` serves the problem meanwhile without a measurement: tried with the defaults. Before
  // Run.
  void Include(Candidate served);

  // Transfer priors: the search begins with their guesses. Before Run.
  void BeginWith(TimesOfPlaces elsewhere);

  // `solvers` apply; the default config of the first is the default candidate.
  Result<TuneReport> Run(const std::vector<const Solver*>& solvers, const TuneBounds& bounds);

 private:
  using Stage = TuneProgress::Stage;

  // A candidate that may be timed.
  struct Runner {
    Candidate candidate;
    double quick_ns = 0;
    int launches = 1;  // In a block: estimated, then as the race calibrated it.
    TimingCost cost;   // Estimated, then as the race saw it.
    Trial qualified;   // Repeated in every trial of the candidate.
  };

  // Takes the machine for `use`. Waiting for it takes nothing of the time of the problem.
  Result<std::unique_ptr<MachineTurns::Turn>> TakeTurn(MachineUse use, const TuneBounds& bounds);
  // Everything before the first candidate is timed, and then timing, in turns with others.
  Status Prepare(const std::vector<const Solver*>& solvers, const TuneBounds& bounds,
                 CandidateSource& source);
  Status TimeAll(const TuneBounds& bounds);
  Status MakeReference(const TuneBounds& bounds);
  Status BeginSet();
  class SearchStream;
  Status QualifyDefaults(CandidateSource& source);
  Status QualifyOthers(CandidateSource& source);
  // Recalls candidates of `source` that an interrupted tuning tried, when the time for more is
  // over.
  Status RecallOthers(CandidateSource& source);
  int64_t SearchDeadlineNs() const;
  // Estimated time of screening and the final.
  int64_t DecisionNs(int64_t available_ns) const;
  QualifyTime TimeFor(int64_t begin_by_ns) const;
  Runner RunnerOf(const Qualified& qualified) const;
  Status QualifyBatch(CandidateSource& source, const std::vector<Candidate>& batch);
  void Begins(const Candidate& candidate);
  void Learn(CandidateSource& source, const Qualified& result);
  bool PruningIsDone() const { return pruning_.has_value() && pruning_->IsDone(); }
  void NoteFailure(const Failure& failure);
  // Forward to the source. The incumbent and the served candidate may be among its candidates: they
  // are qualified once, and the source gets their times when it asks for them.
  std::vector<Candidate> Ask(CandidateSource& source, size_t max_count, bool is_idle);
  void Tell(CandidateSource& source, const Candidate& candidate, const Answer& answer);
  // Puts it behind the first of the defaults.
  void IncludeEarly(const Candidate& candidate, std::vector<Candidate>& defaults);
  bool IsStanding(const Candidate& candidate) const;
  bool IsServed(const Candidate& candidate) const { return served_ == candidate; }
  // Leaves out candidates that are quarantined or cannot win, and passes that to the source.
  std::vector<Candidate> WithoutQuarantined(CandidateSource& source, std::vector<Candidate> batch);
  std::vector<Candidate> WithoutHopeless(CandidateSource& source, std::vector<Candidate> batch);
  // The model of the problem, if it prunes candidates; else null.
  const CandidateModel* ModelToPruneBy() const;
  // Predictions serve as transfer priors: the search begins with the best of them.
  void BeginWithModel();
  void AskModel(const CandidateSource& source);
  // Stores up to kMostRecordedAsPruned of the pruned candidates, and why.
  Status RecordPruned();
  static constexpr size_t kMostRecordedAsPruned = 64;
  // Maximum number of candidates that share a worker process and its memory in one race.
  static constexpr size_t kMaxHeat = 48;

  // Returns the candidates that passed, without those whose creation alone exceeds the time of the
  // problem, unless all do: mostly libraries that compile at the first call.
  std::vector<Runner> QuickEnoughToCreate();
  // Contenders: the default, the incumbent, the others by quick time.
  std::vector<Runner> SelectField();

  // Result of one screening round.
  struct Heat {
    bool baseline_failed = false;
    Runner baseline;
    std::vector<Runner> finalists;  // Best first, without the baseline.
  };
  // Races the contenders, in several screening rounds if there are many. Returns the baseline and
  // the finalists, or none. A baseline that fails is left out, and the next one begins anew:
  // comparisons with it are void.
  Result<std::vector<Runner>> Screen(std::vector<Runner> field);
  // As many of `runners`, the baseline first, as a final can decide among in the time that is left.
  std::vector<Runner> Affordable(std::vector<Runner> runners) const;
  Result<Heat> RunHeats(const std::vector<Runner>& field, int64_t budget_ns);
  Result<Heat> RunHeat(const std::vector<Runner>& entrants, int64_t budget_ns);
  // The baseline and the finalists of `heat`. The incumbent comes first among them, whatever its
  // result in the race, unless it failed there.
  std::vector<Runner> FinalistsOf(Heat heat, const std::vector<Runner>& entrants) const;
  // Decides among `finalists`, of which the first is the baseline; without it if it fails.
  Status RunFinale(std::vector<Runner> finalists);
  Result<bool> TryFinale(const std::vector<Runner>& finalists);
  Status Conclude();
  // Ends the set, or leaves it open if the incumbent is better evidence.
  Status Decide();

  Trial TrialOf(const Runner& runner, TrialRole role, bool is_default,
                const RaceEntry& entry) const;
  void Report(Stage stage);
  // The earlier of two limits, of which 0 is none.
  static int64_t Earlier(int64_t a, int64_t b) {
    return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
  }
  // `share` of the time of a problem, in nanoseconds.
  int64_t ShareNs(double share) const;
  uint64_t DataSeed() const;

  const TunerParts& parts_;
  const TuneOptions& options_;
  const Problem& problem_;
  const Tuner::Listener& listener_;
  int64_t begin_ns_ = 0;
  int64_t search_begin_ns_ = 0;  // Reference complete.
  int64_t end_ns_ = 0;           // Planned end of the final.
  int64_t run_end_ns_ = 0;       // Planned end of the run; 0 if it has no limit.
  int64_t longest_end_ns_ = 0;   // End of TuneBounds::longest_ns; 0 if it has no limit.
  int64_t searched_ns_ = 0;      // By an interrupted tuning, and counted.
  BatchQualifier qualifier_;
  std::map<Candidate, Failure> quarantined_;
  TimesOfPlaces elsewhere_;
  std::optional<Choice> standing_;
  std::optional<Candidate> served_;
  bool standing_failed_ = false;  // In the race.
  // Qualified before the source asks for them, and their quick times: nothing of one that failed,
  // or before it was qualified.
  std::map<Candidate, Answer> early_;
  std::vector<Candidate> defaults_;  // By solver, in order: the first that passes is the default.
  std::vector<Runner> passed_;
  std::optional<Pruning> pruning_;
  std::map<Candidate, std::string> pruned_;  // And why.
  int64_t candidates_ = 0;                   // Number of candidates, if something is pruned.
  std::set<Candidate> left_out_;             // Too slow to create, or by the model.
  std::set<Candidate> unfinished_;           // Asked for, and not ready in time.
  TuneProgress progress_;
  StageNotes stages_;
  TuneReport report_;
};

}  // namespace attune
