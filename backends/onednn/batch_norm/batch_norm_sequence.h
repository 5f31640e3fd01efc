// The primitives of one batch norm, with the statistics in between.
#pragma once

#include <memory>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/space/config.h"
#include "backends/onednn/onednn_adapter.h"
#include "backends/onednn/primitive_sequence.h"

namespace attune::onednn {

// Names of layouts inside of the primitive; the first has no reorder.
inline constexpr const char* kBatchNormLayouts[] = {"plain", "nhwc", "nchw", "blocked16",
                                                    "blocked8"};

// The call of `norm` in a layout. `epsilon` is that of training; other passes get variances that
// include it. REQUIRES: `layout` is one of kBatchNormLayouts.
BatchNormCall BatchNormCallFor(const BatchNorm& norm, const std::string& layout, float epsilon);

// Null if the library does not offer the implementation of `config`. Throws dnnl::error.
std::unique_ptr<PrimitiveSequence> CreateBatchNormSequence(const dnnl::engine& engine,
                                                           const BatchNorm& norm,
                                                           const Config& config, float epsilon);

}  // namespace attune::onednn
