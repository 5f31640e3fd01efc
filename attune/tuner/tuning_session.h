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

  // `standing` is what decides about the problem so far. It takes part in every stage, and unless
  // the new set is better evidence (see Replaces) it stays. Before Run.
  void Challenge(Choice standing);

  // What serves the problem meanwhile, although nobody measured it there: tried with the defaults.
  // Before Run.
  void Include(Candidate served);

  // What was measured at other places: the search begins with what follows from it. Before Run.
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
    Trial qualified;   // What it found out is repeated in every trial of the candidate.
  };

  // The machine, for what the name says. Waiting for it takes nothing of the time of the problem.
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
  // What a tuning that was cut off tried of what `source` asks for, when the time for more is over.
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
  // As those of the source, of which the standing choice and what is served may or may not be some:
  // they are qualified once, and the source gets their times when it asks for them.
  std::vector<Candidate> Ask(CandidateSource& source, size_t max_count, bool is_idle);
  void Tell(CandidateSource& source, const Candidate& candidate, const Answer& answer);
  // Puts it behind the first of the defaults.
  void IncludeEarly(const Candidate& candidate, std::vector<Candidate>& defaults);
  bool IsStanding(const Candidate& candidate) const;
  bool IsServed(const Candidate& candidate) const { return served_ == candidate; }
  // Leaves out what is quarantined or cannot win, and tells the source.
  std::vector<Candidate> WithoutQuarantined(CandidateSource& source, std::vector<Candidate> batch);
  std::vector<Candidate> WithoutHopeless(CandidateSource& source, std::vector<Candidate> batch);
  // The model of the problem, if something is to be left out by it; else null.
  const CandidateModel* ModelToPruneBy() const;
  // What it expects is as what was measured elsewhere: the search begins with the best of it.
  void BeginWithModel();
  void AskModel(const CandidateSource& source);
  // Keeps who was left out by it, and why: so many of them.
  Status RecordPruned();
  static constexpr size_t kMostRecordedAsPruned = 64;
  // As many candidates share a child and its memory in one race.
  static constexpr size_t kMaxHeat = 48;

  // Those that passed, without those whose creation alone exceeds the time of the problem, unless
  // nobody else is there: a library that compiles when it is first called, above all.
  std::vector<Runner> QuickEnoughToCreate();
  // Who is worth timing: the default, the standing choice, the others by quick time.
  std::vector<Runner> SelectField();

  // What a race made of its entrants.
  struct Heat {
    bool baseline_failed = false;
    Runner baseline;
    std::vector<Runner> finalists;  // Best first, without the baseline.
  };
  // Races the field, in heats if it is large: the baseline and the finalists, or nobody. A baseline
  // that fails is left out, and the next one begins anew: comparisons with it are void.
  Result<std::vector<Runner>> Screen(std::vector<Runner> field);
  // As many of `runners`, the baseline first, as a final of the time that is left can decide among.
  std::vector<Runner> Affordable(std::vector<Runner> runners) const;
  Result<Heat> RunHeats(const std::vector<Runner>& field, int64_t budget_ns);
  Result<Heat> RunHeat(const std::vector<Runner>& entrants, int64_t budget_ns);
  // The baseline and the finalists of `heat`, of whom the standing choice is the first, whatever
  // the race made of it, unless it failed there.
  std::vector<Runner> FinalistsOf(Heat heat, const std::vector<Runner>& entrants) const;
  // Decides among `finalists`, of which the first is the baseline; without it if it fails.
  Status RunFinale(std::vector<Runner> finalists);
  Result<bool> TryFinale(const std::vector<Runner>& finalists);
  Status Conclude();
  // Ends the set, or leaves it open if what stands is better evidence.
  Status Decide();

  Trial TrialOf(const Runner& runner, TrialRole role, bool is_default,
                const RaceEntry& entry) const;
  void Report(Stage stage);
  // The earlier of two limits, of which 0 is none.
  static int64_t Earlier(int64_t a, int64_t b) {
    return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
  }
  // What share of the time of a problem is, in nanoseconds.
  int64_t ShareNs(double share) const;
  uint64_t DataSeed() const;

  const TunerParts& parts_;
  const TuneOptions& options_;
  const Problem& problem_;
  const Tuner::Listener& listener_;
  int64_t begin_ns_ = 0;
  int64_t search_begin_ns_ = 0;  // When the reference was there.
  int64_t end_ns_ = 0;           // When the final should be over.
  int64_t run_end_ns_ = 0;       // When the run should be over; 0 if it has no limit.
  int64_t longest_end_ns_ = 0;   // When TuneBounds::longest_ns is over; 0 if it has no limit.
  int64_t searched_ns_ = 0;      // By a tuning that was cut off, and counted.
  BatchQualifier qualifier_;
  std::map<Candidate, Failure> quarantined_;
  TimesOfPlaces elsewhere_;
  std::optional<Choice> standing_;
  std::optional<Candidate> served_;
  bool standing_failed_ = false;  // In the race.
  // Qualified before the source asks for them, and their quick times: nothing of one that failed,
  // or before it was qualified.
  std::map<Candidate, Answer> early_;
  std::vector<Candidate>
      defaults_;  // Of every solver, in order: the first that passes is the default.
  std::vector<Runner> passed_;
  std::optional<Pruning> pruning_;
  std::map<Candidate, std::string> pruned_;  // And why.
  int64_t candidates_ = 0;                   // That there are, where something is pruned.
  std::set<Candidate> left_out_;             // Too slow to create, or by the model.
  std::set<Candidate> unfinished_;           // Asked for, and not ready in time.
  TuneProgress progress_;
  StageNotes stages_;
  TuneReport report_;
};

}  // namespace attune
