// The nodes of a graph.
#pragma once

#include <cuda.h>

#include <vector>

#include "attune/base/status.h"
#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

// True if the driver has the queries of the functions below: since CUDA 12.3.
bool ListsGraphs(const Driver& driver);

Result<std::vector<CUgraphNode>> NodesOf(const Driver& driver, CUgraph graph);
Result<CUgraphNodeType> TypeOf(const Driver& driver, CUgraphNode node);

// Ok if the graph only launches kernels and fills memory, which is the same at each execution; else
// names another kind of node. Copies may read from the host's stack, and memory that a graph
// allocates is its own.
Status CheckComputesOnly(const Driver& driver, CUgraph graph);

}  // namespace attune::cuda
