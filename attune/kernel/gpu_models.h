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
  const char* arch;  // Name for compilers: "sm_90".
  const char* name;
  int compute_units;
  int max_work_group_size;
  int local_memory_bytes;  // Maximum that a launch may request.
};

// The target of `backend` for the model with architecture `arch`. kNotFound lists the known
// architectures; `maker` is the vendor of the GPUs.
Result<Target> TargetOfModel(std::string_view backend, std::string_view maker,
                             std::span<const GpuModel> models, const std::string& arch);

}  // namespace attune::kernel
