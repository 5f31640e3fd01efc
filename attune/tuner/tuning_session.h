// The stages of tuning one problem, in order. Used once, by Tuner.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/measure/decision.h"
#include "attune/measure/race.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/time_plan.h"
#include "attune/tuner/tuner.h"

namespace attune {

class TuningSession {
 public:
  // Borrows everything.
  TuningSession(const TunerParts& parts, const TuneOptions& options, const Problem& problem,
                const Tuner::Listener& listener);

  // `solvers` apply; the default config of the first is the default candidate.
  Result<TuneReport> Run(const std::vector<const Solver*>& solvers);

 private:
  using Stage = TuneProgress::Stage;

  // A candidate that may be timed.
  struct Runner {
    Candidate candidate;
    double quick_ns = 0;
    int launches = 1;  // In a block: estimated, then as the race calibrated it.
    TimingCost cost;   // Estimated, then as the race saw it.
    // What qualification found out, repeated in every trial of the candidate.
    int64_t build_ns = 0;
    int64_t load_ns = 0;
    int64_t workspace_bytes = 0;
    double max_error = 0;
  };

  Status BeginSet();
  void NoteTerms(Environment& environment) const;
  Status QualifyAll(CandidateSource& source);
  int64_t SearchDeadlineNs() const;
  static Runner RunnerOf(const Qualified& qualified);
  Status QualifyBatch(CandidateSource& source, const std::vector<Candidate>& batch);
  // Leaves out what is quarantined, and tells the source.
  std::vector<Candidate> WithoutQuarantined(CandidateSource& source, std::vector<Candidate> batch);

  // Who is worth timing, the default first, then by quick time.
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
  // Decides among `finalists`, of which the first is the baseline; without it if it fails.
  Status RunFinale(std::vector<Runner> finalists);
  Result<bool> TryFinale(const std::vector<Runner>& finalists);
  Status Conclude();

  Trial TrialOf(const Runner& runner, TrialRole role, bool is_default,
                const RaceEntry& entry) const;
  void Report(Stage stage);
  void NoteBaseline(const Runner& baseline);
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
  std::string set_id_;
  std::map<Candidate, Failure> quarantined_;
  std::vector<Candidate>
      defaults_;  // Of every solver, in order: the first that passes is the default.
  std::vector<Runner> passed_;
  TuneProgress progress_;
  TuneReport report_;
};

}  // namespace attune
