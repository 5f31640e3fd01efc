// Common base of the solvers for products of this backend.
#pragma once

#include <memory>
#include <string>

#include "attune/ops/gemm/gemm.h"
#include "attune/solver/config_checker.h"
#include "attune/solver/solver.h"
#include "backends/host/gemm/gemm_executable.h"

namespace attune::host {

// A solver without anything to compile, for products whose A, B and C are all f32 or all f64.
class GemmSolver : public Solver, public ConfigChecker {
 public:
  const SolverId& id() const final { return id_; }
  const SolverTraits& traits() const final { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const final;
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const final;
  // Serves first calls, for which listing the whole space would be most of the work.
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const final;
  Result<bool> HasConfig(const Problem& problem, const Config& config,
                         const Target& target) const final;
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const final {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const final { return Artifact{}; }
  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config& config, Device& device) const final;

 protected:
  GemmSolver(std::string name, SolverTraits traits, HostResources resources);

  const HostResources& resources() const { return resources_; }
  // "Solver host.x-gemm@1", to begin a message with.
  std::string Subject() const;

 private:
  // Ok if it computes this problem, a product of one type on the host.
  virtual Status Accepts(const Gemm& gemm) const = 0;
  virtual SpaceDescription Describe(const Gemm& gemm, const Target& target) const = 0;
  virtual Result<std::unique_ptr<const ProductKernel>> MakeKernel(const Gemm& gemm,
                                                                  const Config& config) const = 0;

  const SolverId id_;
  const SolverTraits traits_;
  const HostResources resources_;
};

}  // namespace attune::host
