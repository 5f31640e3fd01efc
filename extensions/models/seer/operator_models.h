// Operators other than convolutions' main kernels, by name: those that SEER models by a polynomial
// or a tree of ratios.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "extensions/models/seer/linear_models.h"

namespace attune::seer {

// One timed run of an operator, a row of a table of operators (docs/formats/seer.md).
struct OperatorTime {
  std::string name;  // From OperatorNames(), "im2col", or the variant of algorithm 7 for its
                     // transforms of data, filter and output.
  Layer layer;
  double time_ms = 0;     // Above 0.
  double forward_ms = 0;  // The forward convolution, above 0, for gradients; else 0.

  friend bool operator==(const OperatorTime&, const OperatorTime&) = default;
};

// "maxpool", "maxpool_grad", "conv1x1", "layout", "conv_grad_input", "conv_grad_filter".
std::span<const std::string_view> OperatorNames();
bool IsGradientOfConv(std::string_view name);
// True if the time is of kernels around the main one of a convolution, which SeerModel adds to it.
bool IsPreKernel(std::string_view name);

// Lines of operator, N, C, W, K, P, f, s, p, time in ms and, for gradients of convolutions, the
// forward time in ms, with or without a line of column names above. kInvalidArgument with the line.
Result<std::vector<OperatorTime>> ReadOperatorTimes(std::string_view csv);
std::string Csv(std::span<const OperatorTime> times);

// A model of each operator with times.
class OperatorModels {
 public:
  // Skips times of pre-kernels. Fails with kFailedPrecondition as the models do.
  static Result<OperatorModels> Train(std::span<const OperatorTime> times, uint64_t seed,
                                      Rules rules);

  // Nothing for an operator, or a half of conv1x1, without training. Only gradients of convolutions
  // use `forward_ms`.
  std::optional<double> Predict(std::string_view name, const Layer& layer, double forward_ms) const;
  // In their order.
  std::vector<std::string> names() const;

  void AppendText(std::string& text) const;
  static Result<OperatorModels> ReadFrom(ModelLines& lines, Rules rules);

 private:
  std::map<std::string, Polynomial, std::less<>> polynomials_;
  std::optional<PointwiseModel> pointwise_;
  std::map<std::string, GradientModel, std::less<>> gradients_;
};

}  // namespace attune::seer
