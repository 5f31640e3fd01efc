// The roofline: an operation takes as long as its arithmetic at the device's peak or its traffic at
// the device's bandwidth, whichever is longer, and a launch besides. Needs no samples where the
// device is described; where it is not, Fit() takes the best rates of the samples for the peaks.
#pragma once

#include <optional>

#include "attune/model/model_text.h"
#include "attune/model/regressor.h"

namespace attune {

struct DevicePeaks {
  double flops_per_ms = 0;  // 0: not known.
  double bytes_per_ms = 0;
  double launch_ms = 0;

  friend bool operator==(const DevicePeaks&, const DevicePeaks&) = default;
};

class RooflineRegressor final : public Regressor {
 public:
  static constexpr std::string_view kName = "roofline";

  // kInvalidArgument if `features` have no "flops" or no "bytes".
  static Result<std::unique_ptr<RooflineRegressor>> Make(FeatureSet features, DevicePeaks peaks);

  std::string_view name() const override { return kName; }
  Status Fit(std::span<const Sample> samples) override;
  void Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const override;
  void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                   std::span<double> median_ms) const override;
  void AppendText(std::string& text) const override;
  std::unique_ptr<Regressor> Fresh() const override;
  static Result<std::unique_ptr<Regressor>> ReadFrom(ModelLines& lines, const FeatureSet& features);

  double PredictValues(std::span<const double> values) const;

 private:
  RooflineRegressor() = default;

  FeatureSet features_;
  DevicePeaks given_;
  DevicePeaks peaks_;
  size_t flops_ = 0;
  size_t bytes_ = 0;
};

}  // namespace attune
