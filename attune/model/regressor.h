// The interface that all models of time have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"

namespace attune {

// A time with what is known of its error: nine of ten times lie between `low_ms` and `high_ms`.
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

  // What a model file calls it: "nnls", "boosted".
  virtual std::string_view name() const = 0;

  // Forgets what it knew and learns from `samples`. kInvalidArgument for samples that do not fit
  // the features, or whose times are not above 0; kFailedPrecondition for too few.
  virtual Status Fit(std::span<const Sample> samples) = 0;

  // The median of each row's time in ms, above 0. REQUIRES: Fit() succeeded or a file was read; as
  // many results as rows; rows of the features that the model was made for.
  virtual void Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const = 0;

  // What Predict() says of `row` by each of `algorithms`, whatever its own is, with what they have
  // in common computed once: how a program that is served asks.
  virtual void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                           std::span<double> median_ms) const;

  // Appends what ReadFrom() needs to be the same model, as lines (docs/formats/model.md).
  virtual void AppendText(std::string& text) const = 0;

  // A model of the same kind and settings that has learnt nothing.
  virtual std::unique_ptr<Regressor> Fresh() const = 0;
};

// The one row's median.
double PredictOne(const Regressor& regressor, const FeatureRow& row);

// What is wrong with samples of `features`, naming the sample.
Status CheckSamples(std::span<const Sample> samples, const FeatureSet& features);

}  // namespace attune
