// host.direct-conv: a direct convolution with tunable blocking, f32.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/host/cpu.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Parameters:
//   tile      output columns (input channels for backward weights) of one register tile
//   vectors   vectors of output channels of one register tile
//   channels  summed channels at a time (forward and backward data)
//   rows      output rows at a time
//   order     walk of the outer loop: filters (each is reused over the rows) or rows
//   split     unit that threads share out: the work of one image, or images
//   threads
// `pool` must outlive the solver; `level` is the level of the processor, at least kV2.
std::unique_ptr<const Solver> MakeDirectConvSolver(ThreadPool& pool, IsaLevel level);

}  // namespace attune::host
