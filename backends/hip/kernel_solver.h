// A kernel file as a solver that can be built for AMD GPUs and not run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attune/kernel/kernel_file.h"
#include "attune/solver/fit_checker.h"
#include "attune/solver/solver.h"
#include "backends/hip/hipcc.h"

namespace attune::hip {

// Thread-safe: immutable.
class KernelSolver final : public Solver, public FitChecker {
 public:
  // Borrows `hipcc`. REQUIRES: `file` was read for CUDA.
  KernelSolver(const Hipcc& hipcc, kernel::KernelFile file);

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target& target) const override;
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override;
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override;
  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override;
  Result<Artifact> Build(const BuildRecipe& recipe) const override;
  // kUnsupported: nothing here opens an AMD GPU.
  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config& config, Device& device) const override;
  // Nothing: how much room such a GPU has is not known here.
  Result<std::optional<int>> BlocksThatFit(const BuiltCandidate& built,
                                           const Target& target) const override;

 private:
  const Hipcc& hipcc_;
  const kernel::KernelFile file_;
  const SolverId id_;
  const SolverTraits traits_;
};

}  // namespace attune::hip
