// Every algorithm that cuBLASLt has for one product: its own answers, and the space behind them.
#pragma once

#include <vector>

#include "attune/base/status.h"
#include "attune/space/config.h"
#include "backends/cuda/cublaslt_product.h"

namespace attune::cuda {

// Configs of all algorithms that AlgoCheck accepts for `product`, without repetition: first the
// library's own answers, best guess first, then its answers split along k in other ways, then for
// every id each combination of tile, stages, custom option, cluster shape and swizzle that its
// capabilities name. Takes up to a second on types with thousands of tiles.
Result<std::vector<Config>> ListAlgorithms(const CublasLt& lt, const CublasLtProduct& product);

}  // namespace attune::cuda
