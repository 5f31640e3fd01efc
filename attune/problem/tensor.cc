#include "attune/problem/tensor.h"

#include <cassert>

namespace attune {

int64_t ElementCount(const TensorDesc& tensor) {
  int64_t count = 1;
  for (const int64_t extent : tensor.extents) count *= extent;
  return count;
}

int64_t SpanElements(const TensorDesc& tensor) {
  assert(tensor.extents.size() == tensor.strides.size());
  int64_t last = 0;
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    last += (tensor.extents[i] - 1) * tensor.strides[i];
  }
  return last + 1;
}

size_t SpanBytes(const TensorDesc& tensor) {
  return static_cast<size_t>(SpanElements(tensor)) * SizeBytes(tensor.type);
}

}  // namespace attune
