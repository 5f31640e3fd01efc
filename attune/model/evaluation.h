// How good a model's predictions, and choices by them, are on samples that it was not fitted to.
#pragma once

#include <cstddef>
#include <span>

#include "attune/model/time_model.h"

namespace attune {

struct ModelScore {
  // A choice is wrong if it takes more than a tenth longer than the best of its configuration.
  static constexpr double kWrongAbove = 1.1;

  size_t samples = 0;
  double mean_error = 0;    // Mean of |predicted / measured - 1|.
  double median_error = 0;  // Median of the same.
  size_t within_interval = 0;
  size_t choices = 0;  // Configurations with two samples at least.
  size_t wrong = 0;
  size_t best = 0;              // Chose the best.
  double geometric_regret = 1;  // Mean of the chosen time over the best one.
  double top2_regret = 1;       // The same for the better of the two predicted quickest.
};

// REQUIRES: samples of the model's features.
ModelScore ScoreOf(const TimeModel& model, std::span<const Sample> samples);

}  // namespace attune
