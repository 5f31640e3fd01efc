// GPUs that kernels are compiled for and that need not be here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/problem/target.h"

namespace attune::kernel {

// One GPU of an architecture, with the limits that kernel files ask for.
struct GpuModel {
  const char* arch;  // What compilers call it: "sm_90".
  const char* name;
  int compute_units;
  int max_work_group_size;
  int local_memory_bytes;  // That a launch may ask for.
};

// The target of `backend` for the one of `models` whose architecture is `arch`. kNotFound lists
// those that there are; `maker` is whose GPUs they are.
Result<Target> TargetOfModel(std::string_view backend, std::string_view maker,
                             std::span<const GpuModel> models, const std::string& arch);

}  // namespace attune::kernel
