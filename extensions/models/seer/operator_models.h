// Operators other than convolutions' main kernels, by name: what SEER has a polynomial or a tree of
// ratios for.
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

// Of a table of operators (docs/formats/seer.md): one timed run of one of them.
struct OperatorTime {
  std::string name;  // Of OperatorNames(), "im2col", or the variant of algorithm 7 whose transforms
                     // of data, filter and output took the time.
  Layer layer;
  double time_ms = 0;     // Above 0.
  double forward_ms = 0;  // Of the forward convolution, above 0, for gradients alone; else 0.

  friend bool operator==(const OperatorTime&, const OperatorTime&) = default;
};

// "maxpool", "maxpool_grad", "conv1x1", "layout", "conv_grad_input", "conv_grad_filter".
std::span<const std::string_view> OperatorNames();
bool IsGradientOfConv(std::string_view name);
// Whether the time is of kernels around one of a convolution, which SeerModel adds to its.
bool IsPreKernel(std::string_view name);

// Lines of operator, N, C, W, K, P, f, s, p, time in ms and, for gradients of convolutions, the
// forward time in ms, below a line that names them or not. kInvalidArgument with the line.
Result<std::vector<OperatorTime>> ReadOperatorTimes(std::string_view csv);
std::string Csv(std::span<const OperatorTime> times);

// A model of each operator of which there are times.
class OperatorModels {
 public:
  // Passes times of pre-kernels over. kFailedPrecondition as the models' own.
  static Result<OperatorModels> Train(std::span<const OperatorTime> times, uint64_t seed,
                                      Rules rules);

  // Nothing for an operator, or a half of conv1x1, that was never trained. `forward_ms` matters to
  // gradients of convolutions alone.
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
