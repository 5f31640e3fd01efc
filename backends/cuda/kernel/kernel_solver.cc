#include "backends/cuda/kernel/kernel_solver.h"

#include <utility>

#include <fmt/format.h>

#include "attune/kernel/call_arguments.h"
#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/name_expression.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernel/instances.h"
#include "backends/cuda/kernel/kernel_executable.h"
#include "backends/cuda/kernel/occupancy.h"

namespace attune::cuda {
namespace {

// Functions of OpenCL C are written without __device__.
constexpr const char* kPreludeOptions = "--device-as-default-execution-space";

Result<Config> LimitsOf(const Target& target) {
  return kernel::DeviceLimitsOf(target, kernel::KernelLanguage::kCuda);
}

}  // namespace

KernelSolver::KernelSolver(const Lazy<Nvrtc>& nvrtc, kernel::KernelFile file)
    : nvrtc_(nvrtc),
      file_(std::move(file)),
      id_{file_.solver_name(), file_.version},
      traits_(kernel::TraitsOf(file_)) {}

Status KernelSolver::IsApplicable(const Problem& problem, const Target& target) const {
  if (target.backend != "cuda") {
    return Unsupported(
        fmt::format("{} runs on CUDA devices, not on '{}'.", id_.name, target.backend));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Config limits, LimitsOf(target));
  ATTUNE_RETURN_IF_ERROR(kernel::CheckApplies(file_, problem, limits));
  if (file_.is_binary) return Status::Ok();
  const Nvrtc& nvrtc = nvrtc_.Get();
  return nvrtc.available() ? Status::Ok() : Unavailable(nvrtc.report.missing);
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
  ATTUNE_ASSIGN_OR_RETURN(std::string source, kernel::MakeSource(file_, problem, config));
  if (file_.is_binary) return BuildRecipe{std::move(source), "", "none", target.arch};
  std::string options = file_.prelude.empty() ? "" : kPreludeOptions;
  for (const std::string& option : file_.compile_options) {
    options += (options.empty() ? "" : " ") + option;
  }
  return MakeRecipe(nvrtc_.Get(), std::move(source),
                    Joined({std::move(options), kernel::NameExpressionsOf(file_)}), target.arch);
}

Result<Artifact> KernelSolver::Build(const BuildRecipe& recipe) const {
  if (file_.is_binary) return Artifact{recipe.source};
  return BuildCubin(nvrtc_.Get(), recipe);
}

Result<std::unique_ptr<Executable>> KernelSolver::Load(const Artifact& artifact,
                                                       const Problem& problem, const Config& config,
                                                       Device& device) const {
  ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
  ATTUNE_ASSIGN_OR_RETURN(kernel::KernelPlan plan, kernel::MakePlan(file_, problem, config));
  ATTUNE_ASSIGN_OR_RETURN(
      std::unique_ptr<KernelExecutable> executable,
      KernelExecutable::Create(*cuda, artifact, std::move(plan), kernel::OperandNames(problem)));
  // Code with variables is loaded anew for each problem.
  if (file_.dynamic() && !HasVariables(artifact)) Remember(*executable, problem, config, *cuda);
  return std::unique_ptr<Executable>(std::move(executable));
}

void KernelSolver::Remember(const KernelExecutable& executable, const Problem& problem,
                            const Config& config, const CudaDevice& device) const {
  if (file_.own.has_value() || !kernel::NameExpressionsOf(file_).empty()) return;
  auto macros = kernel::MakeMacros(file_, problem, config);
  if (!macros.ok()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
  loaded_[{&device, *std::move(macros)}] = executable.module();
}

Result<std::shared_ptr<Module>> KernelSolver::FindLoaded(const Problem& problem,
                                                         const Config& config,
                                                         const CudaDevice& device) const {
  ATTUNE_ASSIGN_OR_RETURN(std::string macros, kernel::MakeMacros(file_, problem, config));
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find({&device, std::move(macros)});
  return found == loaded_.end() ? nullptr : found->second.lock();
}

bool KernelSolver::HasLoadedAny() const {
  const std::lock_guard lock(mutex_);
  return !loaded_.empty();
}

bool KernelSolver::HasLoaded(const Problem& problem, const Config& config, Device& device) const {
  const Result<CudaDevice*> cuda = CudaDeviceOf(device);
  if (!cuda.ok()) return false;
  const auto module = FindLoaded(problem, config, **cuda);
  return module.ok() && *module != nullptr;
}

Result<std::unique_ptr<Executable>> KernelSolver::LoadAgain(const Problem& problem,
                                                            const Config& config,
                                                            Device& device) const {
  ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
  ATTUNE_ASSIGN_OR_RETURN(std::shared_ptr<Module> module, FindLoaded(problem, config, *cuda));
  if (module == nullptr) return NotFound("The code of the candidate is not loaded any more.");
  ATTUNE_ASSIGN_OR_RETURN(kernel::KernelPlan plan, kernel::MakePlan(file_, problem, config));
  ATTUNE_ASSIGN_OR_RETURN(auto executable,
                          KernelExecutable::CreateAgain(*cuda, std::move(module), std::move(plan),
                                                        kernel::OperandNames(problem)));
  return std::unique_ptr<Executable>(std::move(executable));
}

Result<std::optional<int>> KernelSolver::BlocksThatFit(const BuiltCandidate& built,
                                                       const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const kernel::KernelPlan plan,
                          kernel::MakePlan(file_, built.problem, built.config));
  std::vector<std::string> functions;
  for (const kernel::PlannedLaunch& launch : plan.launches) functions.push_back(launch.function);
  ATTUNE_RETURN_IF_ERROR(CheckHasKernels(built.artifact.bytes, functions));
  return BlocksOfLaunches(built.artifact, plan, target.arch);
}

Result<std::vector<ObservedLaunch>> KernelSolver::PlanLaunches(const BuiltCandidate& built,
                                                               const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const kernel::KernelPlan plan,
                          kernel::MakePlan(file_, built.problem, built.config));
  return LaunchesOf(built.artifact, plan, target.arch);
}

}  // namespace attune::cuda
