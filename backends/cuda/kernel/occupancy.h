// How many blocks of a built kernel a multiprocessor has room for (attune/kernel/multiprocessor.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/launch_observer.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/solver/solver.h"
#include "backends/cuda/kernel/cubin.h"

namespace attune::cuda {

// The demands of one block of a kernel, beside those in CubinKernel.
struct BlockShape {
  int threads = 1;
  int64_t dynamic_shared_bytes = 0;
};

struct Occupancy {
  int blocks = 0;       // Per multiprocessor at a time; 0 if not even one has room.
  std::string limited;  // The limiting resource, in words: "registers", "threads", "shared memory".
};

// kUnsupported for unknown architectures.
Result<Occupancy> OccupancyOf(const CubinKernel& kernel, const BlockShape& block,
                              std::string_view arch);

// The number of blocks that a multiprocessor of `arch` has room for, the minimum of all launches;
// nothing where it is unknown for one of them. kUnsupported, with the reason, if one of them has no
// room for a block.
Result<std::optional<int>> BlocksOfLaunches(const Artifact& cubin, const kernel::KernelPlan& plan,
                                            std::string_view arch);

// The launches of the plan, with data from the machine code in `cubin`: registers, shared memory of
// fixed size, and how many blocks a multiprocessor of `arch` has room for; 0 where the code does
// not state it.
std::vector<ObservedLaunch> LaunchesOf(const Artifact& cubin, const kernel::KernelPlan& plan,
                                       std::string_view arch);

}  // namespace attune::cuda
