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

// Of how many blocks a multiprocessor of `arch` has room, the least of all launches; nothing where
// that cannot be told of one of them. kUnsupported, with the reason, if there is no room for a
// block of one.
Result<std::optional<int>> BlocksOfLaunches(const Artifact& cubin, const kernel::KernelPlan& plan,
                                            std::string_view arch);

// What the plan launches, with what the machine code in `cubin` says of each: registers, shared
// memory of fixed size, and how many blocks a multiprocessor of `arch` has room for; 0 where it
// says nothing.
std::vector<ObservedLaunch> LaunchesOf(const Artifact& cubin, const kernel::KernelPlan& plan,
                                       std::string_view arch);

}  // namespace attune::cuda
