// The interface that all models of time have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"

namespace attune {

// A time with the range of its error: nine of ten times lie between `low_ms` and `high_ms`.
struct Prediction {
  double median_ms = 0;  // Above 0.
  double low_ms = 0;
  double high_ms = 0;

  friend bool operator==(const Prediction&, const Prediction&) = default;
};

// A model of how long operations take on one kind of device. Const methods are thread-safe.
class Regressor {
 public:
  virtual ~Regressor() = default;

  // The name in a model file: "nnls", "boosted".
  virtual std::string_view name() const = 0;

  // Forgets earlier samples and learns from `samples`. kInvalidArgument for samples that do not fit
  // the features, or whose times are not above 0; kFailedPrecondition for too few.
  virtual Status Fit(std::span<const Sample> samples) = 0;

  // The median of each row's time in ms, above 0. REQUIRES: Fit() succeeded or a file was read; as
  // many results as rows; rows of the features that the model was made for.
  virtual void Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const = 0;

  // Predicts `row` by each of `algorithms` instead of its own, and computes their common part once.
  // Programs in production ask in this way.
  virtual void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                           std::span<double> median_ms) const;

  // Appends the lines from which ReadFrom() makes the same model (docs/formats/model.md).
  virtual void AppendText(std::string& text) const = 0;

  // A model of the same kind and settings that has learnt nothing.
  virtual std::unique_ptr<Regressor> Fresh() const = 0;
};

// The one row's median.
double PredictOne(const Regressor& regressor, const FeatureRow& row);

// Fails for samples that do not fit `features`, and names the sample.
Status CheckSamples(std::span<const Sample> samples, const FeatureSet& features);

}  // namespace attune
