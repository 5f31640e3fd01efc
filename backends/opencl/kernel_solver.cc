#include "backends/opencl/kernel_solver.h"

#include <cassert>

#include <fmt/format.h>

#include "attune/kernel/call_arguments.h"
#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/problem_fields.h"
#include "backends/opencl/kernel_executable.h"
#include "backends/opencl/opencl_device.h"
#include "backends/opencl/program_builder.h"

namespace attune::opencl {
KernelSolver::KernelSolver(const Inventory& inventory, kernel::KernelFile file)
    : inventory_(inventory),
      file_(std::move(file)),
      id_{file_.solver_name(), file_.version},
      traits_(kernel::TraitsOf(file_)) {}

Status KernelSolver::IsApplicable(const Problem& problem, const Target& target) const {
  if (target.backend != "opencl") {
    return Unsupported(
        fmt::format("{} runs on OpenCL devices, not on '{}'.", id_.name, target.backend));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Config limits,
                          kernel::DeviceLimitsOf(target, kernel::KernelLanguage::kOpenCl));
  return kernel::CheckApplies(file_, problem, limits);
}

Result<ConfigSpace> KernelSolver::Space(const Problem& problem, const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const Config limits,
                          kernel::DeviceLimitsOf(target, kernel::KernelLanguage::kOpenCl));
  return kernel::MakeSortedSpace(file_, problem, limits);
}

Result<Config> KernelSolver::DefaultConfig(const Problem& problem, const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const Config limits,
                          kernel::DeviceLimitsOf(target, kernel::KernelLanguage::kOpenCl));
  return kernel::DefaultConfig(file_, problem, limits);
}

std::string KernelSolver::WarmUpPlan(const Problem& problem, const Config& config,
                                     const Config& device_limits) const {
  const Result<Problem> smallest = kernel::SmallestLike(problem, file_.compile_time_sizes);
  if (!smallest.ok() || !kernel::CheckApplies(file_, *smallest, device_limits).ok()) return "";
  if (!kernel::CheckConstraints(file_, *smallest, config, device_limits).ok()) return "";
  const Result<kernel::KernelPlan> plan = kernel::MakePlan(file_, *smallest, config);
  return plan.ok() ? Text(*plan) : "";
}

Result<BuildRecipe> KernelSolver::Recipe(const Problem& problem, const Config& config,
                                         const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const DeviceEntry* entry, inventory_.FindLike(target));
  ATTUNE_ASSIGN_OR_RETURN(const Config limits,
                          kernel::DeviceLimitsOf(target, kernel::KernelLanguage::kOpenCl));
  ATTUNE_RETURN_IF_ERROR(kernel::CheckConstraints(file_, problem, config, limits));
  ATTUNE_ASSIGN_OR_RETURN(const std::string source, kernel::MakeSource(file_, problem, config));
  return MakeRecipe(*entry, source, entry->is_pocl ? WarmUpPlan(problem, config, limits) : "",
                    file_.compile_options);
}

Result<BuildRecipe> KernelSolver::Draft(const BuildRecipe& recipe, const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const DeviceEntry* entry, inventory_.FindLike(target));
  if (!entry->is_pocl || file_.is_binary) return BuildRecipe();
  return DraftOf(recipe);
}

Result<Artifact> KernelSolver::Build(const BuildRecipe& recipe) const {
  if (file_.is_binary) return Artifact{recipe.source};
  return BuildArtifact(inventory_, recipe);
}

Result<std::unique_ptr<Executable>> KernelSolver::Load(const Artifact& artifact,
                                                       const Problem& problem, const Config& config,
                                                       Device& device) const {
  auto* opencl = dynamic_cast<OpenClDevice*>(&device);
  if (opencl == nullptr) {
    return InvalidArgument(fmt::format("{} runs on OpenCL devices, not on '{}'.", id_.name,
                                       attune::Text(device.target())));
  }
  ATTUNE_ASSIGN_OR_RETURN(kernel::KernelPlan plan, kernel::MakePlan(file_, problem, config));
  ATTUNE_ASSIGN_OR_RETURN(ProgramHandle program,
                          LoadProgram(opencl->context(), opencl->entry(), artifact));
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<KernelExecutable> executable,
                          KernelExecutable::Create(*opencl, std::move(program), std::move(plan),
                                                   kernel::OperandNames(problem)));
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace attune::opencl
