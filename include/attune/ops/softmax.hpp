// Softmax for C++17 and later, over attune/ops/softmax.h, which has the details.
//
//   attune::SoftmaxProblem softmax;
//   softmax.outer = 6144, softmax.length = 512;
//   softmax.Run(runtime, {.x = x, .y = y});
#ifndef ATTUNE_OPS_SOFTMAX_HPP_
#define ATTUNE_OPS_SOFTMAX_HPP_

#include <cstdint>
#include <vector>

#include "attune/attune.hpp"
#include "attune/ops/softmax.h"

namespace attune {
inline namespace v1 {

// Buffers that the problem does not have are ignored.
struct SoftmaxBuffers {
  const void* x = nullptr;
  const void* mask = nullptr;
  void* y = nullptr;  // Backward reads it.
  const void* dy = nullptr;
  void* dx = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  void* queue = nullptr;  // As attune_arguments has it.
};

struct SoftmaxProblem {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t queries = 1;
  bool backward = false, logarithm = false;
  attune_softmax_mask mask = ATTUNE_SOFTMAX_NO_MASK;
  double scale = 1;  // Multiplies x, in the backward pass dx.
  attune_type type = ATTUNE_F32;
  bool deterministic = false;
  int alignment_bytes = 0;

  // A plain one along `axis` of a packed tensor, as attune_softmax_along().
  static SoftmaxProblem Along(const std::vector<std::int64_t>& extents, int axis) {
    const attune_softmax c =
        attune_softmax_along(extents.data(), static_cast<int>(extents.size()), axis);
    SoftmaxProblem softmax;
    softmax.outer = c.outer, softmax.length = c.length, softmax.inner = c.inner;
    return softmax;
  }

  attune_softmax ToC() const {
    return {outer, length,     inner, queries,       backward,       logarithm,
            mask,  scale != 1, type,  deterministic, alignment_bytes};
  }

  // Computes with the best candidate known for this shape. Throws attune::Error.
  void Run(const Runtime& runtime, const SoftmaxBuffers& buffers) const {
    std::vector<void*> data = {const_cast<void*>(backward ? buffers.y : buffers.x)};
    if (backward) data.push_back(const_cast<void*>(buffers.dy));
    if (mask == ATTUNE_SOFTMAX_ADDITIVE) data.push_back(const_cast<void*>(buffers.mask));
    data.push_back(backward ? buffers.dx : buffers.y);
    attune_operands operands = ATTUNE_OPERANDS_INIT;
    operands.data = data.data();
    operands.count = data.size();
    operands.alpha = scale;
    operands.workspace = buffers.workspace;
    operands.workspace_bytes = buffers.workspace_bytes;
    operands.queue = buffers.queue;
    const attune_softmax problem = ToC();
    Check(attune_run_softmax(runtime.get(), &problem, &operands));
  }
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_OPS_SOFTMAX_HPP_
