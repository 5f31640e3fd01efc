// Softmax along one axis of a packed tensor, outer x length x inner:
//
//   forward    y = exp(z - max z) / sum exp(z - max z),  z = alpha x + mask
//   logarithm  y = z - max z - log sum exp(z - max z)
//   backward   dx = alpha y (dy - sum y dy), of the logarithm dx = alpha (dy - exp(y) sum dy)
#pragma once

#include <cstdint>

#include "attune/base/data_type.h"
#include "attune/base/status.h"

namespace attune {

enum class SoftmaxMask {
  kNone,
  kCausal,    // Row r sees positions 0 to r modulo queries: the lower triangle from the left.
  kAdditive,  // Row r modulo queries of a tensor queries x length is added.
};

struct Softmax {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
  bool backward = false;
  bool logarithm = false;
  // Forward and with inner = 1 only; a causal one without a logarithm, which would be infinite.
  SoftmaxMask mask = SoftmaxMask::kNone;
  int64_t queries = 1;             // Rows of the mask; divides outer, 1 without a mask.
  bool scaled = false;             // True if alpha can differ from 1.
  DataType type = DataType::kF32;  // f32, f16 or bf16, of every operand.
  int alignment_bytes = 64;
  bool deterministic = false;

  friend bool operator==(const Softmax&, const Softmax&) = default;
};

class Operator;
const Operator& SoftmaxOperator();
inline const Operator& OperatorOf(const Softmax*) { return SoftmaxOperator(); }

// kInvalidArgument, with field, value and limit, unless extents are in [1, 2^31), the tensor has
// less than 2^40 elements, the type is supported, and the mask, `queries` and the alignment are as
// described above.
Status Validate(const Softmax& softmax);

}  // namespace attune
