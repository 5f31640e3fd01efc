// A solver for tests that run no candidate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "attune/solver/solver.h"

namespace attune {

// A solver that has only a space.
class SpaceOnlySolver final : public Solver {
 public:
  SpaceOnlySolver(std::string name, int64_t values, bool has_space = true, SolverTraits traits = {})
      : id_{std::move(name), 1}, traits_(std::move(traits)), has_space_(has_space) {
    parameter_.name = "p";
    for (int64_t i = 0; i < values; ++i) parameter_.values.emplace_back(i);
  }
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    if (!has_space_) return Internal("The library does not answer.");
    return ConfigSpace::Create({parameter_}, {});
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("Never loaded.");
  }

 private:
  SolverId id_;
  SolverTraits traits_;
  Parameter parameter_;
  bool has_space_;
};

}  // namespace attune
