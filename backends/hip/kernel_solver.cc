#include "backends/hip/kernel_solver.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/name_expression.h"
#include "backends/hip/cuda_on_hip.h"

namespace attune::hip {
namespace {

Result<Config> LimitsOf(const Target& target) {
  return kernel::DeviceLimitsOf(target, kernel::KernelLanguage::kCuda);
}

}  // namespace

KernelSolver::KernelSolver(const Hipcc& hipcc, kernel::KernelFile file)
    : hipcc_(hipcc),
      file_(std::move(file)),
      id_{"hip." + file_.name, file_.version},
      traits_(kernel::TraitsOf(file_)) {}

Status KernelSolver::IsApplicable(const Problem& problem, const Target& target) const {
  if (target.backend != "hip") {
    return Unsupported(
        fmt::format("{} is built for AMD GPUs, not for '{}'.", id_.name, target.backend));
  }
  if (!file_.compile_options.empty()) {
    return Unsupported(fmt::format("{} has options of another compiler ({}).", id_.name,
                                   fmt::join(file_.compile_options, " ")));
  }
  if (file_.is_binary) {
    return Unsupported(
        fmt::format("{} is compiled already ({}).", id_.name, fmt::join(file_.source_names, " ")));
  }
  const std::vector<std::string> names = kernel::NameExpressionsOf(file_);
  if (!names.empty()) {
    return Unsupported(fmt::format("{} has kernels that NVRTC alone is asked for by name ({}).",
                                   id_.name, fmt::join(names, ", ")));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Config limits, LimitsOf(target));
  ATTUNE_RETURN_IF_ERROR(kernel::CheckApplies(file_, problem, limits));
  return hipcc_.available() ? Status::Ok() : Unavailable(hipcc_.report.missing);
}

Result<ConfigSpace> KernelSolver::Space(const Problem& problem, const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const Config limits, LimitsOf(target));
  return kernel::MakeSortedSpace(file_, problem, limits);
}

Result<Config> KernelSolver::DefaultConfig(const Problem& problem, const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const Config limits, LimitsOf(target));
  return kernel::DefaultConfig(file_, problem, limits);
}

Result<BuildRecipe> KernelSolver::Recipe(const Problem& problem, const Config& config,
                                         const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const Config limits, LimitsOf(target));
  ATTUNE_RETURN_IF_ERROR(kernel::CheckConstraints(file_, problem, config, limits));
  ATTUNE_ASSIGN_OR_RETURN(const std::string source, kernel::MakeSource(file_, problem, config));
  return MakeRecipe(
      hipcc_,
      fmt::format("{}{}{}", CudaOnHip(), file_.prelude.empty() ? "" : OpenClOnCudaOnHip(), source),
      target.arch);
}

Result<Artifact> KernelSolver::Build(const BuildRecipe& recipe) const {
  return BuildCodeObject(hipcc_, recipe);
}

Result<std::unique_ptr<Executable>> KernelSolver::Load(const Artifact&, const Problem&,
                                                       const Config&, Device&) const {
  return Unsupported(fmt::format("{} can only be built: no AMD GPU is opened here.", id_.name));
}

Result<std::optional<int>> KernelSolver::BlocksThatFit(const BuiltCandidate& built,
                                                       const Target&) const {
  ATTUNE_ASSIGN_OR_RETURN(const kernel::KernelPlan plan,
                          kernel::MakePlan(file_, built.problem, built.config));
  for (const kernel::PlannedLaunch& launch : plan.launches) {
    ATTUNE_RETURN_IF_ERROR(CheckHasKernel(built.artifact.bytes, launch.function));
  }
  return std::optional<int>();
}

}  // namespace attune::hip
