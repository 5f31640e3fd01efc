// The parts that SEER models by a polynomial alone: the FFTs, the kernels before the main one, and
// operators other than convolutions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "extensions/models/seer/cart.h"
#include "extensions/models/seer/time_formula.h"

namespace attune::seer {

struct TimedLayer {
  Layer layer;
  double time_ms = 0;
};

// T = sum of coefficients times terms of the layer.
struct Polynomial {
  std::vector<double> (*terms)(const Layer&, Rules) = nullptr;
  Rules rules = Rules::kFixed;
  std::vector<double> coefficients;
  double least_ms = 0;

  double Predict(const Layer& layer) const;
  // Appends lines of a file of models (docs/formats/seer.md), which do not contain the terms.
  void AppendText(std::string& text) const;
  static Result<Polynomial> ReadFrom(ModelLines& lines,
                                     std::vector<double> (*terms)(const Layer&, Rules),
                                     Rules rules);
};
// kFailedPrecondition for no samples or times that are not above 0.
Result<Polynomial> FitPolynomial(std::vector<double> (*terms)(const Layer&, Rules),
                                 std::span<const TimedLayer> samples, Rules rules);

// Algorithm 4: one polynomial for each band of input widths, up to 16, 32, 64, 128 and 256, which
// are the sizes of its transforms. As published T = a C + b C K + c K + d, because all data were
// measured at N = 128; otherwise the transforms of images and outputs, and the products, grow with
// N: T = a N C + b N C K + c C K + d N K + e.
class FftModel {
 public:
  static Result<FftModel> Train(std::span<const TimedLayer> samples, Rules rules);
  // The widest image is 256, the stride 1.
  static bool Supports(const Layer& layer);
  // Nothing if it is not supported or the band was never measured.
  std::optional<double> Predict(const Layer& layer) const;
  void AppendText(std::string& text) const;
  static Result<FftModel> ReadFrom(ModelLines& lines, Rules rules);

 private:
  std::array<std::optional<Polynomial>, 5> bands_;
};

// Algorithm 5: the same terms times the number of 32x32 tiles, m = ceil(P / (32 - f + 1))^2. The
// filters are transformed once, but as published once per tile.
class FftTilingModel {
 public:
  static Result<FftTilingModel> Train(std::span<const TimedLayer> samples, Rules rules);
  // The stride is 1 and a tile is wider than the filter.
  static bool Supports(const Layer& layer);
  double Predict(const Layer& layer) const { return polynomial_.Predict(layer); }
  void AppendText(std::string& text) const { polynomial_.AppendText(text); }
  static Result<FftTilingModel> ReadFrom(ModelLines& lines, Rules rules);

 private:
  Polynomial polynomial_;
};

// The im2col before algorithm 2: a N P^2 f^2 C + b K f^2 C + c.
std::vector<double> Im2colTerms(const Layer& layer, Rules rules);
// The transforms of data, filter and output around algorithm 7: a N C W^2 + b C K f^2 + c N K P^2 +
// d, with N in the second one as published.
std::vector<double> WinogradTransformTerms(const Layer& layer, Rules rules);

// Repeated times of the three transforms. As published, the data's counts three times, and only the
// first four repeats count.
struct TransformTimes {
  std::vector<double> data_ms;
  std::vector<double> filter_ms;
  std::vector<double> output_ms;
};
double TransformTime(const TransformTimes& times, Rules rules);

// The terms of other operators.
std::vector<double> MaxPoolTerms(const Layer& layer, Rules rules);  // a out f + b in + c out + d
std::vector<double> MaxPoolGradientTerms(const Layer& layer, Rules rules);  // a out f + b in + c
std::vector<double> PointwiseNarrowTerms(const Layer& layer, Rules rules);  // 1x1, K <= 128
std::vector<double> PointwiseWideTerms(const Layer& layer, Rules rules);    // 1x1, K > 128
std::vector<double> LayoutTerms(const Layer& layer, Rules rules);           // a N C W^2 + b

// Convolutions of 1x1: two polynomials, for up to 128 output channels (padded to 32) and above.
class PointwiseModel {
 public:
  static Result<PointwiseModel> Train(std::span<const TimedLayer> samples, Rules rules);
  // Nothing if that half was never measured.
  std::optional<double> Predict(const Layer& layer) const;
  void AppendText(std::string& text) const;
  static Result<PointwiseModel> ReadFrom(ModelLines& lines, Rules rules);

 private:
  std::optional<Polynomial> narrow_;
  std::optional<Polynomial> wide_;
};

// The time of a gradient is the forward time multiplied by a ratio, from a tree on (C, W, K, P, f,
// s).
struct GradientSample {
  Layer layer;
  double forward_ms = 0;
  double gradient_ms = 0;
};
class GradientModel {
 public:
  static Result<GradientModel> Train(std::span<const GradientSample> samples, uint64_t seed);
  double Predict(const Layer& layer, double forward_ms) const;
  void AppendText(std::string& text) const { ratio_.AppendText(text); }
  static Result<GradientModel> ReadFrom(ModelLines& lines);

 private:
  Cart ratio_;
};

}  // namespace attune::seer
