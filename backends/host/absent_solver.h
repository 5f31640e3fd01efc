// Stands for a solver whose plug-in cannot be loaded under the limits of this process.
#pragma once

#include <string>
#include <string_view>

#include "attune/solver/solver.h"

namespace attune::host {

// Keeps the name known, so that a choice of it is not a typing error, and applies to no problem:
// `reason`, a kResourceExhausted, says why. REQUIRES: `name` ends in the operator,
// "host.onednn-gemm".
class AbsentSolver final : public Solver {
 public:
  AbsentSolver(std::string name, Status reason)
      : id_{std::move(name), 1}, reason_(std::move(reason)) {
    traits_.description = "Its plug-in is not loaded under these limits";
    traits_.operator_name = id_.name.substr(id_.name.rfind('-') + 1);
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return reason_; }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return reason_; }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return reason_;
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return reason_; }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return reason_;
  }

 private:
  const SolverId id_;
  SolverTraits traits_;
  const Status reason_;
};

}  // namespace attune::host
