// What a model of time says that need not be run, because it cannot win.
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
  // Left out is whose range of nine of ten times begins above so many times the end of that of the
  // best; 0: nobody. At 1 the ranges do not meet.
  double factor = 0;
  // Only so many are run, those that are predicted to be the quickest; 0: all.
  size_t top = 0;

  bool none() const { return factor == 0 && top == 0; }

  friend bool operator==(const PruneTerms&, const PruneTerms&) = default;
};

// For whoever tunes while a program is served. To be the quickest all the same, such a candidate
// has to be more than twice as fast as nineteen of twenty like it, or the best one more than twice
// as slow; between 1 and 2 it is worth a launch, since what is left out is never known.
inline constexpr double kFarSlower = 2;

// One problem's. Those that the model does not know are never left out for their time, but are
// behind all others where only the first few are run.
class Pruning {
 public:
  // Borrows the model. Those that it knows and that `may_be_tried` make the bound.
  Pruning(const CandidateModel& model, const PruneTerms& terms, const Problem& problem,
          const std::function<bool(const Candidate&)>& may_be_tried);

  // A time of somebody who may win. One that was taken beside others is too long, and so leaves out
  // too few.
  void NoteMeasured(double time_ns);

  // Why it is left out, in a sentence; nothing if it is to be run.
  std::optional<std::string> WhyNot(const Candidate& candidate) const;

  // That a candidate had its turn, and whether all have that get one where only the first few are
  // run. What is listed later may be among the first few, and is not waited for.
  void NoteAsked(const Candidate& candidate) { first_few_.erase(candidate); }
  bool IsDone() const { return terms_.top > 0 && first_few_.empty(); }

  // What is expected of a candidate that the model knows.
  std::optional<double> ExpectedNs(const Candidate& candidate) const;

 private:
  const Prediction* Find(const Candidate& candidate) const;

  const CandidateModel& model_;
  const PruneTerms terms_;
  std::map<Candidate, Prediction> predictions_;  // Of all that the model knows.
  double best_high_ns_ = std::numeric_limits<double>::infinity();
  // Where only the first few are run: the slowest of them, and those without a turn yet.
  double last_median_ns_ = 0;
  std::set<Candidate> first_few_;
};

// What is kept of one that was left out, in the form of a failure.
Trial LeftOutTrial(const Candidate& candidate, const std::string& why);
// Whether a trial is such a one: nobody knows how its candidate would have done.
bool WasLeftOut(const Trial& trial);

}  // namespace attune
