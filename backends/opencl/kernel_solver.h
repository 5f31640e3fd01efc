// A kernel file as a solver.
#pragma once

#include <memory>
#include <string>

#include "attune/kernel/kernel_file.h"
#include "attune/solver/drafter.h"
#include "attune/solver/solver.h"
#include "backends/opencl/inventory.h"

namespace attune::opencl {

// Thread-safe: immutable but for the Inventory, which is.
class KernelSolver final : public Solver, public Drafter {
 public:
  // Borrows `inventory`.
  KernelSolver(const Inventory& inventory, kernel::KernelFile file);

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target& target) const override;
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override;
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override;
  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override;
  // Empty unless the device is PoCL's: see DraftOf.
  Result<BuildRecipe> Draft(const BuildRecipe& recipe, const Target& target) const override;
  Result<Artifact> Build(const BuildRecipe& recipe) const override;
  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config& config, Device& device) const override;

 private:
  // The plan that warms up a lazy compiler, as text; empty where the kernel computes no small
  // problem like this one, and then the first launch compiles the missing parts. It depends on
  // `problem` only as far as the program does.
  std::string WarmUpPlan(const Problem& problem, const Config& config,
                         const Config& device_limits) const;

  const Inventory& inventory_;
  const kernel::KernelFile file_;
  const SolverId id_;
  const SolverTraits traits_;
};

}  // namespace attune::opencl
