// Plans of cuDNN's graphs: made of an engine with its knobs, or read back out of the library's own
// text of one, which saves compiling it again.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/trial/candidate.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_backend.h"

namespace attune::cuda {

// An engine with its knobs set and checked for one graph on one device.
struct CudnnPlan {
  CudnnDescriptor plan;
  size_t workspace_bytes = 0;
  // Its engine compiles when a plan is made, which takes tenths of a second.
  bool is_compiled = false;
};

// The plan of `engine_config`; may compile for seconds.
Result<CudnnPlan> MakePlan(const Cudnn& cudnn, cudnnHandle_t handle,
                           const CudnnDescriptor& engine_config);

// The plan that JsonOf wrote. kUnsupported, or the library's own error, if the library rejects it.
// cuDNN does not document other versions or devices, or which engines' texts it accepts.
Result<CudnnPlan> PlanFromJson(const Cudnn& cudnn, cudnnHandle_t handle, std::string_view json);

// The library's own text of a plan, which may hold its machine code; empty where it writes none,
// and above kMostPlanBytes.
std::string JsonOf(const CudnnPlan& plan);
inline constexpr size_t kMostPlanBytes = size_t{16} << 20;

// The key of the text of a plan: the problem, the candidate, the library's build and the device.
BuildRecipe PlanKey(const LibraryReport& cudnn, const Problem& problem, const Candidate& candidate,
                    const Target& target);

}  // namespace attune::cuda
