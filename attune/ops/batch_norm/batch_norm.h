// Batch normalisation of a packed tensor, with an optional residual and ReLU behind it:
//
//   y = act(gamma (x - mean) / sqrt(variance + epsilon) + beta + residual)
//
//   training   computes mean and variance from the values of each group
//   inference  reads them
//   backward   computes dx, dgamma, dbeta and dresidual from x and dy
//
// Variances divide by the number of values; a running variance takes the unbiased one, which
// divides by one less. Data are f32, f16 or bf16; statistics and parameters are f32.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/base/data_type.h"
#include "attune/base/status.h"
#include "attune/problem/tensor.h"

namespace attune {

enum class BatchNormPass { kTraining, kInference, kBackward };

enum class BatchNormMode {
  kSpatial,        // One mean for each channel.
  kPerActivation,  // One mean for each element of an image.
};

// A canonical problem has one of the last two only with a depth above 1.
enum class BatchNormLayout { kNchw, kNhwc, kNcdhw, kNdhwc };
inline bool HasDepth(BatchNormLayout layout) {
  return layout == BatchNormLayout::kNcdhw || layout == BatchNormLayout::kNdhwc;
}
inline bool IsChannelsLast(BatchNormLayout layout) {
  return layout == BatchNormLayout::kNhwc || layout == BatchNormLayout::kNdhwc;
}

enum class BatchNormFusion { kNone, kRelu, kAdd, kAddRelu };
inline bool HasRelu(BatchNormFusion fusion) {
  return fusion == BatchNormFusion::kRelu || fusion == BatchNormFusion::kAddRelu;
}
inline bool HasAdd(BatchNormFusion fusion) {
  return fusion == BatchNormFusion::kAdd || fusion == BatchNormFusion::kAddRelu;
}

struct BatchNorm {
  BatchNormPass pass = BatchNormPass::kTraining;
  BatchNormMode mode = BatchNormMode::kSpatial;
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t depth = 1;  // 1 in a layout without depth.
  int64_t height = 1;
  int64_t width = 1;
  BatchNormLayout layout = BatchNormLayout::kNchw;
  bool affine = true;    // gamma and beta are operands; otherwise they are 1 and 0.
  bool running = false;  // Training updates a running mean and variance.
  bool saved = false;    // Training writes mean and inverse deviation, backward reads them.
  // Backward with kAdd is the same problem as with kNone: the gradient of the residual is dy.
  BatchNormFusion fusion = BatchNormFusion::kNone;
  DataType type = DataType::kF32;
  int alignment_bytes = 64;
  bool deterministic = false;

  friend bool operator==(const BatchNorm&, const BatchNorm&) = default;
};

class Operator;
const Operator& BatchNormOperator();
inline const Operator& OperatorOf(const BatchNorm*) { return BatchNormOperator(); }

// kInvalidArgument, with field, value and limit, unless extents are in [1, 2^31), the tensor has
// less than 2^40 elements, the type is supported, a depth above 1 has a layout with depth, groups
// of training and backward have at least two values, and the alignment is a power of two from 4.
Status Validate(const BatchNorm& norm);

// The tensor as outer x groups x inner: the values with one mean are those of one group.
struct BatchNormShape {
  int64_t outer = 1;
  int64_t groups = 1;
  int64_t inner = 1;

  int64_t count() const { return outer * inner; }  // Values of a group.
  int64_t elements() const { return outer * groups * inner; }
};
BatchNormShape ShapeOf(const BatchNorm& norm);

// Positions in Operands(), -1 for an operand that the problem does not have.
struct BatchNormOperands {
  int x = -1;
  int dy = -1;
  int residual = -1;
  int gamma = -1;
  int beta = -1;
  int running_mean = -1;
  int running_variance = -1;
  int mean = -1;  // Written by training, read otherwise.
  int inverse_deviation = -1;
  int variance = -1;
  int y = -1;  // Read by backward if the fusion has a ReLU.
  int dgamma = -1;
  int dbeta = -1;
  int dresidual = -1;
  int dx = -1;
};
BatchNormOperands OperandsOf(const BatchNorm& norm);

}  // namespace attune
