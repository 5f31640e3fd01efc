// Softmax over lines of f32, f16 and bf16, for each level of the instruction set.
#pragma once

#include <cstdint>

#include "attune/numeric/data_type.h"
#include "attune/ops/softmax/softmax.h"
#include "backends/host/cpu.h"

namespace attune::host::softmax {

// `count` lines side by side: element i of line j is at i * step + j. With step 1 there is one.
struct LineCall {
  const void* x = nullptr;  // Backward: y.
  const void* dy = nullptr;
  const void* mask = nullptr;  // Of one line, with step 1; may be null.
  void* out = nullptr;
  int64_t length = 0;
  int64_t visible = 0;  // Elements from here on are masked; length: none.
  int64_t step = 1;
  int64_t count = 1;  // At most kMostLines.
  float scale = 1;
  bool logarithm = false;
  bool keeps_exponentials = true;  // In scratch; else they are computed twice.
  float* scratch = nullptr;        // ScratchElements() of it.
};
inline constexpr int64_t kMostLines = 64;

// Of one call.
inline int64_t ScratchElements(int64_t length, int64_t count) { return length * count; }

using LineKernel = void (*)(const LineCall&);
// REQUIRES: `type` is f32, f16 or bf16.
LineKernel KernelFor(IsaLevel level, DataType type, bool backward);

}  // namespace attune::host::softmax
