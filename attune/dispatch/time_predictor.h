// A model that says how long a candidate would take.
#pragma once

#include <optional>

#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

// Thread-safe, and quick: it is asked in the calling thread when a shape is seen for the first
// time.
class TimePredictor {
 public:
  virtual ~TimePredictor() = default;
  // Nanoseconds of one launch on the target that this predictor was made for, or nothing if it
  // cannot say.
  virtual std::optional<double> PredictNs(const Problem& problem,
                                          const Candidate& candidate) const = 0;
};

}  // namespace attune
