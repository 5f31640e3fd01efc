// How many blocks a multiprocessor has room for, by the calculator that comes with CUDA's headers:
// no device is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/solver/solver.h"
#include "backends/cuda/cubin.h"

namespace attune::cuda {

// What one block of a kernel asks for, beside what CubinKernel says.
struct BlockShape {
  int threads = 1;
  int64_t dynamic_shared_bytes = 0;
};

struct Occupancy {
  int blocks = 0;       // Of a multiprocessor at a time; 0 if not even one has room.
  std::string limited;  // By what, in words: "registers", "threads", "shared memory".
};

// kUnsupported for architectures of which nothing is known here.
Result<Occupancy> OccupancyOf(const CubinKernel& kernel, const BlockShape& block,
                              std::string_view arch);

// kUnsupported, with the reason, if a multiprocessor of `arch` has no room for a block of one of
// the launches. Ok where that cannot be told.
Status CheckLaunchesFit(const Artifact& cubin, const kernel::KernelPlan& plan,
                        std::string_view arch);

}  // namespace attune::cuda
