// What a plan launches, in the words of devices that were asked.
#pragma once

#include <vector>

#include "attune/device/launch_observer.h"
#include "attune/kernel/kernel_plan.h"

namespace attune::kernel {

// Names, grids, blocks and the shared memory that is asked for; what is in machine code stays 0.
std::vector<ObservedLaunch> LaunchesOf(const KernelPlan& plan);

}  // namespace attune::kernel
