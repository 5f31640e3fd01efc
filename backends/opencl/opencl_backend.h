// OpenCL devices, the kernels out of kernel files, and CLBlast.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "attune/solver/backend.h"

namespace attune::opencl {

// Kernel files out of `kernel_folders` (KernelFolders() is the usual search path). Never fails:
// missing platforms, libraries and broken kernel files are in its reports.
std::unique_ptr<const Backend> OpenClBackend(
    const std::vector<std::filesystem::path>& kernel_folders);

}  // namespace attune::opencl
