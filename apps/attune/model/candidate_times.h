// What a file of `attune model fit` predicts of candidates on a device.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/model_file.h"
#include "attune/problem/problem.h"
#include "attune/runtime/places.h"
#include "attune/trial/candidate.h"

namespace attune::model {

// What records that are measured at `place` now make a model of.
ModelOrigin OriginOf(const Place& place);
// "openblas 0.3.21, xsmm 1.17": the libraries of an environment; "none" without any.
std::string LibrariesOf(const Environment& environment);

class CandidateTimes {
 public:
  // kFailedPrecondition, with the reason, for a model of another operator, device or set of
  // libraries. Other errors name the file, too.
  static Result<CandidateTimes> Open(const std::string& file, const Place& place,
                                     std::string_view operator_name);

  // In the order of `candidates`. REQUIRES: a problem of the operator.
  std::vector<Prediction> Of(const Problem& problem, std::span<const Candidate> candidates) const;

 private:
  explicit CandidateTimes(TimeModel model) : model_(std::move(model)) {}

  TimeModel model_;
};

}  // namespace attune::model
