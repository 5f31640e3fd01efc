// Features of matrix products on a processor: counts that need no measurement.
#pragma once

#include <string>

#include "attune/model/feature_row.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {

// The sizes that cap and pad counts.
struct ProcessorShape {
  int64_t tile_rows = 16;  // Micro-kernel size.
  int64_t tile_columns = 4;
  int64_t level2_bytes = 1 << 20;
  int64_t level3_bytes = 32 << 20;
  int64_t threads = 1;
};

// Flops, flops padded to the tile, compulsory bytes, bytes that packing writes, traffic beyond each
// cache with the reuse that fits into it, tiles per thread, the lengths of the loops.
FeatureSet GemmFeatures();
FeatureRow GemmRow(const Gemm& gemm, const std::string& algorithm, const ProcessorShape& processor);

}  // namespace attune
