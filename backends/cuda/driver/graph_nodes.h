// What a graph consists of.
#pragma once

#include <cuda.h>

#include <vector>

#include "attune/base/status.h"
#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

// Whether the driver has what the functions below ask: that of CUDA 12.3 does.
bool ListsGraphs(const Driver& driver);

Result<std::vector<CUgraphNode>> NodesOf(const Driver& driver, CUgraph graph);
Result<CUgraphNodeType> TypeOf(const Driver& driver, CUgraphNode node);

// Ok if all that the graph does is to launch kernels and to fill memory, which is the same whenever
// it is executed; or what else is in it. Copies may read what the host had on its stack, and memory
// that a graph allocates is its own.
Status CheckComputesOnly(const Driver& driver, CUgraph graph);

}  // namespace attune::cuda
