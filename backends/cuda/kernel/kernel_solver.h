// A kernel file as a solver.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attune/kernel/kernel_file.h"
#include "attune/solver/code_keeper.h"
#include "attune/solver/fit_checker.h"
#include "attune/solver/launch_planner.h"
#include "attune/solver/solver.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/kernel/kernel_executable.h"

namespace attune::cuda {

// Thread-safe.
class KernelSolver final : public Solver,
                           public FitChecker,
                           public LaunchPlanner,
                           public CodeKeeper {
 public:
  // Borrows `nvrtc`. REQUIRES: `file` was read for CUDA.
  KernelSolver(const Lazy<Nvrtc>& nvrtc, kernel::KernelFile file);

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target& target) const override;
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override;
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override;
  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override;
  Result<Artifact> Build(const BuildRecipe& recipe) const override;
  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config& config, Device& device) const override;
  Result<std::optional<int>> BlocksThatFit(const BuiltCandidate& built,
                                           const Target& target) const override;
  Result<std::vector<ObservedLaunch>> PlanLaunches(const BuiltCandidate& built,
                                                   const Target& target) const override;
  bool HasLoadedAny() const override;
  bool HasLoaded(const Problem& problem, const Config& config, Device& device) const override;
  Result<std::unique_ptr<Executable>> LoadAgain(const Problem& problem, const Config& config,
                                                Device& device) const override;

 private:
  // The macros of a program, and the device that it is loaded on.
  using CodeKey = std::pair<const CudaDevice*, std::string>;

  // The loaded code of a candidate; null if it is not loaded.
  Result<std::shared_ptr<Module>> FindLoaded(const Problem& problem, const Config& config,
                                             const CudaDevice& device) const;
  // Keeps the code of `executable` for further problems.
  void Remember(const KernelExecutable& executable, const Problem& problem, const Config& config,
                const CudaDevice& device) const;

  const Lazy<Nvrtc>& nvrtc_;
  const kernel::KernelFile file_;
  const SolverId id_;
  const SolverTraits traits_;
  mutable std::mutex mutex_;  // Guards loaded_.
  mutable std::map<CodeKey, std::weak_ptr<Module>> loaded_;
};

}  // namespace attune::cuda
