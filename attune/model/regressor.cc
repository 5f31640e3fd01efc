#include "attune/model/regressor.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attune/model/model_text.h"

namespace attune {
namespace {

bool AllFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

bool IsTime(double time_ms) { return std::isfinite(time_ms) && time_ms > 0; }

std::string WhatIsWrong(const Sample& sample, const FeatureSet& features) {
  if (!IsTime(sample.time_ms)) return fmt::format("its time is {} ms", sample.time_ms);
  if (!IsOneLine(sample.row.algorithm)) return "the name of its algorithm has control characters";
  if (sample.row.values.size() != features.operation.size()) {
    return fmt::format("it has {} values, where the features '{}' are {}", sample.row.values.size(),
                       features.name, features.operation.size());
  }
  if (!AllFinite(sample.row.values)) return "a value is not finite";
  if (!sample.kernel_times_ms.empty() &&
      sample.kernel_times_ms.size() != sample.row.kernels.size()) {
    return fmt::format("it has {} times for {} kernels", sample.kernel_times_ms.size(),
                       sample.row.kernels.size());
  }
  if (!std::all_of(sample.kernel_times_ms.begin(), sample.kernel_times_ms.end(), IsTime)) {
    return "the time of a kernel is not above 0";
  }
  for (const KernelRow& kernel : sample.row.kernels) {
    if (!IsOneLine(kernel.signature)) return "the name of a kernel has control characters";
    if (kernel.values.size() != features.kernel.size() || !AllFinite(kernel.values)) {
      return fmt::format("kernel '{}' has not {} finite values", kernel.signature,
                         features.kernel.size());
    }
  }
  return "";
}

}  // namespace

void Regressor::PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                            std::span<double> median_ms) const {
  std::vector<FeatureRow> rows(algorithms.size(), row);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].algorithm = algorithms[i];
  Predict(rows, median_ms);
}

double PredictOne(const Regressor& regressor, const FeatureRow& row) {
  double median_ms = 0;
  regressor.Predict({&row, 1}, {&median_ms, 1});
  return median_ms;
}

Status CheckSamples(std::span<const Sample> samples, const FeatureSet& features) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::string wrong = WhatIsWrong(samples[i], features);
    if (!wrong.empty()) {
      return InvalidArgument(
          fmt::format("Sample {} of {} cannot be learnt: {}.", i + 1, samples.size(), wrong));
    }
  }
  return Status::Ok();
}

}  // namespace attune
