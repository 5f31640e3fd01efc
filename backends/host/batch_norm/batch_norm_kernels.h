// Parts of a batch norm of f32, f16 and bf16, for each level of the instruction
// set.
//
// A tensor is rows of slots. A slot is `length` adjacent values of one group: a
// channel of one image, or a single value. Statistics and coefficients are
// arrays with an entry for each slot.
#pragma once

#include <cstdint>

#include "attune/base/data_type.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "backends/host/cpu.h"

namespace attune::host::batch_norm {

// Sums in f64; null where the problem has none. `product` is the sum of
// gradient * (x - mean).
struct Statistics {
  double* mean = nullptr;
  double* squares = nullptr;  // The sum of (x - mean)^2.
  double* sum = nullptr;      // The sum of gradients.
  double* product = nullptr;
};

// Forward:  out = (x - mean) * scale + offset
// Backward: out = gradient * scale + (x - mean) * slope + offset
struct Coefficients {
  float* mean = nullptr;
  float* scale = nullptr;
  float* offset = nullptr;
  float* slope = nullptr;
};

enum class Step {
  kMoments,  // Adds to mean and squares.
  kSums,     // Adds to sum and product. Without a mean in the statistics,
             // coefficients have it.
  kForward,
  kBackward,
};

// Pointers are to the first element.
struct Tile {
  const void* x = nullptr;
  const void* dy = nullptr;
  const void* other = nullptr;  // Forward the residual, backward y. May be null.
  void* out = nullptr;
  void* dresidual = nullptr;  // May be null.
  int64_t rows = 1;
  int64_t row_step = 1;  // In elements.
  int64_t slots = 1;
  int64_t slot_step = 1;
  int64_t length = 1;

  bool is_columns() const { return slot_step == 1; }
};

inline constexpr int kLongUnroll = 4;

struct TileCall {
  Step step = Step::kMoments;
  Tile tile;
  bool relu = false;     // Forward.
  bool streams = false;  // Writes around the caches.
  int unroll = 1;        // Vectors of a run that are added at a time: 1 or kLongUnroll.
  Statistics statistics;
  Coefficients coefficients;
  int64_t before = 0;        // Values of each slot that the statistics have already.
  float* scratch = nullptr;  // ScratchFloats() of it, aligned to 64 bytes.
};
// A slot of a tile with at most so many rows of 16 values each adds few enough
// numbers in f32.
inline constexpr int64_t kMostTerms = 256;
int64_t ScratchFloats(int64_t slots, bool is_columns);

using TileKernel = void (*)(const TileCall&);
// REQUIRES: `type` is f32, f16 or bf16.
TileKernel KernelFor(IsaLevel level, DataType type);

// Coefficients of groups, and the outputs that have a value for each. Null
// pointers stand for operands that the problem does not have.
struct FinishCall {
  BatchNormPass pass = BatchNormPass::kTraining;
  int64_t groups = 1;
  double count = 1;  // Values of a group.
  double epsilon = 0;
  double momentum = 0;
  Statistics statistics;
  Coefficients coefficients;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  const float* given_mean = nullptr;
  const float* given_variance = nullptr;
  const float* given_inverse = nullptr;
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  float* saved_mean = nullptr;
  float* saved_inverse = nullptr;
  float* dgamma = nullptr;
  float* dbeta = nullptr;
};
using FinishKernel = void (*)(const FinishCall&);
FinishKernel FinishFor(IsaLevel level);

}  // namespace attune::host::batch_norm
