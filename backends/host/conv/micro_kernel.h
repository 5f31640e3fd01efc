// The innermost loop of the direct convolution: a tile of J x (V vectors) sums kept in registers.
// One kernel serves all three directions; they differ in the content of the two streams.
#pragma once

#include <cstdint>

#include "backends/host/cpu.h"

namespace attune::host {

// For a = 0 .. outer-1 and b = 0 .. inner-1, with i = a * inner + b:
//   sums[j][lane] += x[x_offsets[a] + b * x_step + j] * w[i * lanes + lane]
// where lanes = V * vector_floats and `sums` is row-major and dense. Offsets and steps count
// floats.
struct MicroCall {
  const float* x = nullptr;
  const int64_t* x_offsets = nullptr;
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t x_step = 0;
  const float* w = nullptr;
  float* sums = nullptr;
  bool accumulate = false;  // Add to `sums` instead of overwriting it.
};
using MicroKernel = void (*)(const MicroCall&);

// Moves a tile of sums, `rows` of `lanes` floats, to where each lane has a row of its own:
// to[lane * lane_stride + r * row_stride] = from[r * lanes + lane] + bias[lane] for lanes below
// `used_lanes`.
struct StoreCall {
  const float* from = nullptr;
  int64_t rows = 0;
  int64_t lanes = 0;
  int64_t used_lanes = 0;
  float* to = nullptr;
  int64_t lane_stride = 0;
  int64_t row_stride = 0;
  const float* bias = nullptr;  // Null for none.
};
using StoreKernel = void (*)(const StoreCall&);

inline constexpr int kMaxVectors = 4;
inline constexpr int kMaxTileRows = 28;

// The kernels of one instruction set.
struct MicroKernelSet {
  int vector_floats = 0;
  // Largest J for V vectors that keeps all sums in registers; 0 if V is not offered.
  int max_rows[kMaxVectors + 1] = {};
  // kernels[V - 1][J - 1]; null above max_rows[V].
  MicroKernel kernels[kMaxVectors][kMaxTileRows] = {};
  StoreKernel store = nullptr;
};

// Kernels for a processor of `level`, which must be at least kV2.
const MicroKernelSet& MicroKernelsFor(IsaLevel level);

}  // namespace attune::host
