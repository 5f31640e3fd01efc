// Nearest neighbours among the samples of an algorithm, by the logarithms of the features: each
// neighbour's time is carried over in proportion to the roofline, and the nearer ones count more.
// For few samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/model/places.h"
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
  void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                   std::span<double> median_ms) const override;
  void AppendText(std::string& text) const override;
  std::unique_ptr<Regressor> Fresh() const override;
  static Result<std::unique_ptr<Regressor>> ReadFrom(ModelLines& lines, const FeatureSet& features);

 private:
  struct Point {
    uint32_t place = 0;
    double log_ratio = 0;  // The time over the roofline's.
  };
  using Points = std::map<std::string, std::vector<Point>, std::less<>>;

  NearestRegressor() = default;
  static Result<Point> ReadPoint(ModelLines& lines, size_t places);
  // Points of an algorithm; of all if it has none.
  const std::vector<Point>& PointsOf(std::string_view algorithm) const;
  static double LogRatioNear(const std::vector<Point>& points, std::span<const double> distances);

  FeatureSet features_;
  std::unique_ptr<Regressor> roofline_;
  Places places_;
  Points points_;  // By algorithm; "" has all.
};

}  // namespace attune
