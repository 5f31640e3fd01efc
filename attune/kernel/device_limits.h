// Properties of a device that expressions of a kernel file may read, by name.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/problem/target.h"
#include "attune/space/config.h"

namespace attune::kernel {

// Every name that applies and constraints may read of a device in some language.
inline constexpr std::string_view kDeviceLimitNames[] = {
    "language",       // 'opencl' or 'cuda'.
    "compute_units",  // Multiprocessors, where the device has such.
    "max_work_group_size",
    "local_memory_bytes",    // Limit for arrays of fixed size in a kernel.
    "dynamic_shared_bytes",  // CUDA alone: that a launch may ask for instead.
    "arch",                  // CUDA alone: 90 for sm_90, 0 for GPUs of AMD.
};

// Those that a file in all of `languages` may read.
std::vector<std::string_view> LimitNamesOf(std::span<const KernelLanguage> languages);

// The limits of `target` for kernels of `language`, from Target::properties (compute_units and arch
// from the target itself); kUnsupported if it does not say one of them.
Result<Config> DeviceLimitsOf(const Target& target, KernelLanguage language);

}  // namespace attune::kernel
