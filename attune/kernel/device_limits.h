// What expressions of a kernel file may read about a device, by name.
#pragma once

#include <string_view>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/space/config.h"

namespace attune::kernel {

// Limits that applies and constraints may read, from Target::properties
// (compute_units from the target itself).
inline constexpr std::string_view kDeviceLimitNames[] = {"compute_units", "max_work_group_size",
                                                         "local_memory_bytes"};

// The limits of `target`; kUnsupported if it does not say one of them.
Result<Config> DeviceLimitsOf(const Target& target);

}  // namespace attune::kernel
