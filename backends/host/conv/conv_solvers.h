// The convolutions of the host backend that need no library of their own.
#pragma once

#include <vector>

#include "attune/solver/solver.h"
#include "backends/host/cpu.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Best guess first, the reference last: host.direct-conv (on x86-64-v2 and above), then for each of
// `gemm_solvers`, called host.LIB-gemm, host.im2col-LIB and host.conv1x1-LIB, then
// host.reference-conv. `gemm_solvers` and `pool` must outlive the result; `level` is the highest
// level that the processor runs.
SolverList MakeHostConvSolvers(const std::vector<const Solver*>& gemm_solvers, ThreadPool& pool,
                               IsaLevel level);

}  // namespace attune::host
