// The launches of a plan, in the same form as devices report them.
#pragma once

#include <vector>

#include "attune/device/launch_observer.h"
#include "attune/kernel/kernel_plan.h"

namespace attune::kernel {

// Names, grids, blocks and requested shared memory; values that are in machine code stay 0.
std::vector<ObservedLaunch> LaunchesOf(const KernelPlan& plan);

}  // namespace attune::kernel
