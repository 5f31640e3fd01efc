// host.reference-conv: the definition of a convolution as loops. Slow, and right.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Every type but the 8-bit floats, every layout, direction and mode; sums in double precision. No
// parameters. `pool` must outlive the solver.
std::unique_ptr<const Solver> MakeReferenceConvSolver(ThreadPool& pool);

}  // namespace attune::host
