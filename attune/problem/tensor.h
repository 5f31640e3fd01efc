// A dense operand as memory sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/base/data_type.h"

namespace attune {

// Extents and strides in elements, same length, in the operator's logical order (n, c, [d,] h, w
// for images; k, c/groups, ... for weights; batch, row, column for matrices). Strides may leave
// gaps (a leading dimension larger than the extent); a gap belongs to the operand but is never read
// or written.
struct TensorDesc {
  DataType type = DataType::kF32;
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;

  friend bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

// Elements, without gaps.
int64_t ElementCount(const TensorDesc& tensor);
// From the first element to the end of the last one, gaps included, in elements and in bytes.
int64_t SpanElements(const TensorDesc& tensor);
size_t SpanBytes(const TensorDesc& tensor);

enum class OperandRole { kIn, kOut, kInOut };

struct Operand {
  std::string name;
  OperandRole role = OperandRole::kIn;
  TensorDesc tensor;

  friend bool operator==(const Operand&, const Operand&) = default;
};

}  // namespace attune
