// Every algorithm that cuBLASLt has for one product: its own answers, and the space around them.
#pragma once

#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/space/config.h"
#include "backends/cuda/gemm/cublaslt_product.h"

namespace attune::cuda {

// Configs of algorithms that AlgoCheck accepts for `product`, without repetition, the likely first:
// the library's own answers, best guess first; its answers split along k in other ways; for every
// id each combination of tile, stages, custom option, cluster shape and swizzle that its
// capabilities name; then for every id inner shapes, and splits of k with each way to add their
// sums, over accepted tiles and stages. There would be some fifty of these last ones for each
// combination, so an id has at most kMaxVariantsPerId of them, spread over its tiles. Products that
// keep a device busy whole are not split. Takes up to a second on types with thousands of tiles.
inline constexpr int kMaxVariantsPerId = 1024;

Result<std::vector<Config>> ListAlgorithms(const CublasLt& lt, const CublasLtProduct& product);
// The same of `gemm` on the device of `context`.
Result<std::vector<Config>> ListAlgorithms(const CublasLt& lt, CUcontext context, const Gemm& gemm);

}  // namespace attune::cuda
