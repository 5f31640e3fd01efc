// AMD GPUs, as far as hipcc supports them: kernel files are built for them, but not run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/solver/backend.h"

namespace attune::hip {

// Has solvers and no devices.
std::unique_ptr<const Backend> HipBackend(const std::vector<std::filesystem::path>& kernel_folders);

// The target of the GPU that compilers call `arch`, which need not be here. kNotFound lists those
// that are known.
Result<Target> TargetOf(const std::string& arch);

}  // namespace attune::hip
