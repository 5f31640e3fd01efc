// The key by which MIOpen's perf-dbs name a batch norm. docs/formats/miopen.md has its grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/formats/miopen/conv_words.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/problem/layout.h"
#include "attune/problem/text_error.h"

namespace attune::miopen {

// "2x16x64x112x112x1x1x1x0xNCHWxTrnxFP32x1". The key contains neither the types of parameters and
// statistics nor an activation.
struct BatchNormKey {
  int64_t spatial_rank = 2;  // 2 or 3.
  int64_t batch = 0;
  int64_t channels = 0;
  Spatial extents = {1, 0, 0};  // Depth, height, width.
  bool saves = false;           // Training writes mean and inverse deviation.
  bool runs = false;            // Training updates a running mean and variance.
  bool uses_saved = false;      // Backward reads mean and inverse deviation.
  // The letters of the dimensions of x, largest stride first, or a name of TensorLayout. MIOpen
  // derives them from strides, so NHCW occurs, too.
  std::string layout = "NCHW";
  BatchNormPass pass = BatchNormPass::kTraining;
  ElementType type = ElementType::kFp32;  // Type of x.
  BatchNormMode mode = BatchNormMode::kSpatial;

  friend bool operator==(const BatchNormKey&, const BatchNormKey&) = default;
};
std::string Text(const BatchNormKey& key);
Parsed<BatchNormKey> ReadBatchNormKey(std::string_view text);

// Why no batch norm can have that key, a sentence ("0 is no extent."); empty if one may.
std::string WhyImpossible(const BatchNormKey& key);

// The problem without an activation that the key means, validated and canonical. kInvalidArgument
// for an impossible batch norm, kUnsupported for a type or layout that a BatchNorm lacks.
Result<BatchNorm> ProblemOf(const BatchNormKey& key);

// The inverse. MIOpen takes depth and height as one before it makes a key. kUnsupported if another
// problem would have the same key: a fusion, no gamma and beta, a requirement of determinism or
// alignment.
Result<BatchNormKey> BatchNormKeyOf(const BatchNorm& norm);

// The problem that the key of `norm` means, which computes the same; `norm` itself if it has none.
BatchNorm MeantByKeyOf(const BatchNorm& norm);

// True if a version of MIOpen searches parameters of this solver for batch norms.
bool IsBatchNormSolver(std::string_view name);

}  // namespace attune::miopen
