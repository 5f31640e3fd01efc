// A kernel file as a solver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attune/kernel/kernel_file.h"
#include "attune/solver/fit_checker.h"
#include "attune/solver/launch_planner.h"
#include "attune/solver/solver.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// Thread-safe: immutable but for the compiler, which is.
class KernelSolver final : public Solver, public FitChecker, public LaunchPlanner {
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

 private:
  const Lazy<Nvrtc>& nvrtc_;
  const kernel::KernelFile file_;
  const SolverId id_;
  const SolverTraits traits_;
};

}  // namespace attune::cuda
