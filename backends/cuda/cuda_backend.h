// NVIDIA GPUs as a backend.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/solver/backend.h"

namespace attune::cuda {

// Kernel files out of `kernel_folders` (kernel::KernelFolders() is the usual search path).
// Everything of CUDA is loaded at run time; Backend::Libraries() lists missing libraries and broken
// kernel files.
std::unique_ptr<const Backend> CudaBackend(
    const std::vector<std::filesystem::path>& kernel_folders);

// The target of the GPU that compilers call `arch`, which need not be here. kNotFound lists those
// that are known.
Result<Target> TargetOf(const std::string& arch);

}  // namespace attune::cuda
