#include "attune/model/roofline_regressor.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

// An operation without work still takes a time.
constexpr double kLeastMs = 1e-6;

Result<size_t> PositionOf(const FeatureSet& features, std::string_view name) {
  const auto found = std::find(features.operation.begin(), features.operation.end(), name);
  if (found == features.operation.end()) {
    return InvalidArgument(
        fmt::format("A roofline needs the feature '{}', which '{}' lacks.", name, features.name));
  }
  return static_cast<size_t>(found - features.operation.begin());
}

}  // namespace

Result<std::unique_ptr<RooflineRegressor>> RooflineRegressor::Make(FeatureSet features,
                                                                   DevicePeaks peaks) {
  std::unique_ptr<RooflineRegressor> model(new RooflineRegressor);
  ATTUNE_ASSIGN_OR_RETURN(model->flops_, PositionOf(features, kFlopsFeature));
  ATTUNE_ASSIGN_OR_RETURN(model->bytes_, PositionOf(features, kBytesFeature));
  model->features_ = std::move(features);
  model->given_ = model->peaks_ = peaks;
  return model;
}

Status RooflineRegressor::Fit(std::span<const Sample> samples) {
  ATTUNE_RETURN_IF_ERROR(CheckSamples(samples, features_));
  DevicePeaks seen;
  for (const Sample& sample : samples) {
    seen.flops_per_ms = std::max(seen.flops_per_ms, sample.row.values[flops_] / sample.time_ms);
    seen.bytes_per_ms = std::max(seen.bytes_per_ms, sample.row.values[bytes_] / sample.time_ms);
  }
  peaks_ = given_;
  if (peaks_.flops_per_ms <= 0) peaks_.flops_per_ms = seen.flops_per_ms;
  if (peaks_.bytes_per_ms <= 0) peaks_.bytes_per_ms = seen.bytes_per_ms;
  return Status::Ok();
}

double RooflineRegressor::PredictValues(std::span<const double> values) const {
  const double arithmetic = peaks_.flops_per_ms > 0 ? values[flops_] / peaks_.flops_per_ms : 0;
  const double traffic = peaks_.bytes_per_ms > 0 ? values[bytes_] / peaks_.bytes_per_ms : 0;
  return std::max({arithmetic, traffic, kLeastMs}) + peaks_.launch_ms;
}

void RooflineRegressor::Predict(std::span<const FeatureRow> rows,
                                std::span<double> median_ms) const {
  for (size_t i = 0; i < rows.size(); ++i) median_ms[i] = PredictValues(rows[i].values);
}

void RooflineRegressor::PredictEach(const FeatureRow& row, std::span<const std::string_view>,
                                    std::span<double> median_ms) const {
  std::ranges::fill(median_ms, PredictValues(row.values));
}

void RooflineRegressor::AppendText(std::string& text) const {
  AppendNumbers(text, "peaks",
                std::array{peaks_.flops_per_ms, peaks_.bytes_per_ms, peaks_.launch_ms});
}

std::unique_ptr<Regressor> RooflineRegressor::Fresh() const {
  std::unique_ptr<RooflineRegressor> model(new RooflineRegressor(*this));
  model->peaks_ = given_;
  return model;
}

Result<std::unique_ptr<Regressor>> RooflineRegressor::ReadFrom(ModelLines& lines,
                                                               const FeatureSet& features) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> peaks, lines.Numbers("peaks", 3));
  if (*std::min_element(peaks.begin(), peaks.end()) < 0) return lines.Wrong("a peak is below 0.");
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<RooflineRegressor> model,
                          Make(features, {peaks[0], peaks[1], peaks[2]}));
  return std::unique_ptr<Regressor>(std::move(model));
}

}  // namespace attune
