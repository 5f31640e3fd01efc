// The report's view of time models: their predictions for everything that was timed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/attune/report/report_data.h"
#include "attune/index/candidate_models.h"
#include "attune/model/regressor.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

// One candidate that was timed, in a final if it came that far, else in a screening.
struct PredictedTime {
  Problem problem;
  Candidate candidate;
  bool is_default = false;
  double measured_ms = 0;
  Prediction predicted;

  // Predicted over measured.
  double ratio() const { return predicted.median_ms / measured_ms; }
  bool is_within() const {
    return predicted.low_ms <= measured_ms && measured_ms <= predicted.high_ms;
  }
};

// Predictions for all problems with a model for their operator. They include candidates without
// model data of their own.
std::vector<PredictedTime> PredictedTimes(const ReportData& data, const CandidateModels& models);

// The found time over the best one, as a function of the number of measurements for each problem:
// geometric means over problems with two candidates at least.
struct RegretCurves {
  static constexpr size_t kMostMeasured = 16;

  std::vector<double> by_model;  // In the order of predictions; the first is of one measured.
  std::vector<double> at_random;
  double of_default = 1;
  size_t problems = 0;
};
RegretCurves RegretOf(const std::vector<PredictedTime>& times);

}  // namespace attune
