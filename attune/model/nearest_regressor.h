// Nearest neighbours among the samples of an algorithm, by the logarithms of the features: each
// neighbour's time is carried over in proportion to the roofline, and the nearer ones count more.
// What to use while there are few samples.
#pragma once

#include <map>
#include <memory>

#include "attune/model/roofline_regressor.h"

namespace attune {

class NearestRegressor final : public Regressor {
 public:
  static constexpr std::string_view kName = "nearest";
  static constexpr size_t kNeighbours = 5;

  // kInvalidArgument as RooflineRegressor::Make().
  static Result<std::unique_ptr<NearestRegressor>> Make(FeatureSet features, DevicePeaks peaks);

  std::string_view name() const override { return kName; }
  Status Fit(std::span<const Sample> samples) override;
  void Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const override;
  void AppendText(std::string& text) const override;
  std::unique_ptr<Regressor> Fresh() const override;
  static Result<std::unique_ptr<Regressor>> ReadFrom(ModelLines& lines, const FeatureSet& features);

 private:
  struct Point {
    std::vector<double> values;  // As in the sample.
    std::vector<double> place;   // Logarithms, in units of their spread.
    double log_ratio = 0;        // Of the time to the roofline's.
  };
  NearestRegressor() = default;
  std::vector<double> PlaceOf(std::span<const double> values) const;
  double LogRatioNear(const std::vector<Point>& points, std::span<const double> place) const;

  FeatureSet features_;
  std::unique_ptr<Regressor> roofline_;
  std::vector<double> spreads_;                                    // One for each feature, above 0.
  std::map<std::string, std::vector<Point>, std::less<>> points_;  // By algorithm; "" has all.
};

}  // namespace attune
