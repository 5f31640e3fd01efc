// A model that says how long candidates would take.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

struct PredictedCandidate {
  Candidate candidate;
  double time_ns = 0;  // Of one launch, above 0: as likely too long as too short.
  double high_ns = 0;  // Above nine of ten, at least.
};

// Thread-safe, and quick: it is asked in the calling thread when a shape is seen for the first
// time.
class TimePredictor {
 public:
  using Wanted = std::function<bool(const Candidate&)>;

  virtual ~TimePredictor() = default;
  // False if Predict() would say nothing about `problem`, whatever it is asked.
  virtual bool Knows(const Problem& problem) const = 0;
  // Of the candidates that it can predict for `problem`, on the target that it was made for,
  // `standing` and those that are `wanted`, `limit` at most in all, quickest first. Empty if it
  // cannot predict `standing`, with which the others are compared.
  virtual std::vector<PredictedCandidate> Predict(const Problem& problem, const Candidate& standing,
                                                  const Wanted& wanted, size_t limit) const = 0;
};

}  // namespace attune
