#include "backends/cuda/cudnn/cudnn_plan.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

// Handles of plans are deprecated in newer versions, and needed in older ones.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {
namespace {

// Incremented when the description of graphs changes: names of tensors, say, which are in the text.
constexpr const char* kPlanFormat = "cuDNN plan 1";

Result<CudnnDescriptor> UnfinishedPlan(const Cudnn& cudnn, cudnnHandle_t handle) {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor plan,
                          CudnnDescriptor::Create(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  ATTUNE_RETURN_IF_ERROR(plan.SetOne(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle));
  return plan;
}

Result<CudnnPlan> Finished(CudnnDescriptor plan) {
  ATTUNE_RETURN_IF_ERROR(plan.Finalize());
  ATTUNE_ASSIGN_OR_RETURN(const int64_t workspace_bytes,
                          plan.GetInt64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return CudnnPlan{std::move(plan), static_cast<size_t>(workspace_bytes)};
}

}  // namespace

Result<CudnnPlan> MakePlan(const Cudnn& cudnn, cudnnHandle_t handle,
                           const CudnnDescriptor& engine_config) {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor plan, UnfinishedPlan(cudnn, handle));
  ATTUNE_RETURN_IF_ERROR(
      plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine_config));
  return Finished(std::move(plan));
}

Result<CudnnPlan> PlanFromJson(const Cudnn& cudnn, cudnnHandle_t handle, std::string_view json) {
  ATTUNE_ASSIGN_OR_RETURN(CudnnDescriptor plan, UnfinishedPlan(cudnn, handle));
  ATTUNE_RETURN_IF_ERROR(plan.SetRaw(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                     static_cast<int64_t>(json.size()), json.data()));
  return Finished(std::move(plan));
}

std::string JsonOf(const CudnnPlan& plan) {
  const std::vector<char> text =
      plan.plan.GetAll<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR);
  if (text.size() > kMostPlanBytes) return {};
  return std::string(text.begin(), text.end());
}

BuildRecipe PlanKey(const LibraryReport& cudnn, const Problem& problem, const Candidate& candidate,
                    const Target& target) {
  return {fmt::format("{}\n{}", kPlanFormat, Text(problem)), Text(candidate),
          fmt::format("cuDNN {} {}", cudnn.version, cudnn.build_id), Text(target)};
}

}  // namespace attune::cuda
