// Prunes candidates that cannot win according to a model of time.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "attune/model/candidate_model.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"

namespace attune {

struct PruneTerms {
  // A candidate is left out if its range of nine of ten times begins above this multiple of the end
  // of the best candidate's range; 0: none. At 1 the ranges do not meet.
  double factor = 0;
  // Only this many run, those with the shortest predicted times; 0: all.
  size_t top = 0;

  bool none() const { return factor == 0 && top == 0; }

  friend bool operator==(const PruneTerms&, const PruneTerms&) = default;
};

// For tuning while a program is served. To be the fastest all the same, such a candidate must be
// more than twice as fast as nineteen of twenty similar ones, or the best one more than twice as
// slow; between 1 and 2 it is worth a launch, because the time of a pruned candidate stays unknown.
inline constexpr double kFarSlower = 2;

// Pruning of one problem. Candidates that the model does not know are never pruned for their time,
// but come last if only the first few run.
class Pruning {
 public:
  // Borrows the model. The bound comes from candidates that it knows and that `may_be_tried`.
  Pruning(const CandidateModel& model, const PruneTerms& terms, const Problem& problem,
          const std::function<bool(const Candidate&)>& may_be_tried);

  // Notes a time of a candidate that may win. A time taken beside others is too long, and so prunes
  // too few.
  void NoteMeasured(double time_ns);

  // The reason for leaving it out, in a sentence; nothing if it must run.
  std::optional<std::string> WhyNot(const Candidate& candidate) const;

  // NoteAsked: the candidate had its turn. IsDone: if only the first few run, all of them had
  // theirs. A candidate that is listed later may be among the first few, and is not awaited.
  void NoteAsked(const Candidate& candidate) { first_few_.erase(candidate); }
  bool IsDone() const { return terms_.top > 0 && first_few_.empty(); }

  // Expected time of a candidate that the model knows.
  std::optional<double> ExpectedNs(const Candidate& candidate) const;

 private:
  const Prediction* Find(const Candidate& candidate) const;

  const CandidateModel& model_;
  const PruneTerms terms_;
  std::map<Candidate, Prediction> predictions_;  // All that the model knows.
  double best_high_ns_ = std::numeric_limits<double>::infinity();
  // If only the first few run: the slowest of them, and those without a turn yet.
  double last_median_ns_ = 0;
  std::set<Candidate> first_few_;
};

// The record of a candidate that was left out, in the form of a failure.
Trial LeftOutTrial(const Candidate& candidate, const std::string& why);
// True if a trial is such a record: the performance of its candidate is unknown.
bool WasLeftOut(const Trial& trial);

}  // namespace attune
