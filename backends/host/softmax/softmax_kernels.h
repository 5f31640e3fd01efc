// Softmax over lines of f32, f16 and bf16, for each level of the instruction set.
#pragma once

#include <cstdint>

#include "attune/base/data_type.h"
#include "attune/ops/softmax/softmax.h"
#include "backends/host/cpu.h"

namespace attune::host::softmax {

// `count` neighbouring lines: element i of line j is at i * step + j. With step 1 there is one
// line.
struct LineCall {
  const void* x = nullptr;  // Backward: y.
  const void* dy = nullptr;
  const void* mask = nullptr;  // Only with step 1; may be null.
  void* out = nullptr;
  int64_t length = 0;
  int64_t visible = 0;  // Elements from this one on are masked. `length` without a causal mask.
  int64_t step = 1;
  int64_t count = 1;  // At most kMostLines.
  float scale = 1;
  bool logarithm = false;
  bool keeps_exponentials = true;  // Keeps them in scratch instead of computing them twice.
  float* scratch = nullptr;        // length * count elements.
};
inline constexpr int64_t kMostLines = 64;

using LineKernel = void (*)(const LineCall&);
// REQUIRES: `type` is f32, f16 or bf16.
LineKernel KernelFor(IsaLevel level, DataType type, bool backward);

}  // namespace attune::host::softmax
