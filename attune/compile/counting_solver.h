// A solver for tests of this module: "compiles" by copying the source, and counts how often.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attune/solver/fit_checker.h"
#include "attune/solver/solver.h"

namespace attune {

// The recipe's source is the text of the config, so equal configs share a recipe. Set `on_build` to
// fail or to wait.
class CountingSolver final : public Solver, public FitChecker {
 public:
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config& config, const Target&) const override {
    if (config.contains("refused")) return Unsupported("This config cannot be built.");
    if (config.contains("library")) return BuildRecipe{};
    return BuildRecipe{Text(config), "-O2", "test compiler 1", "test device"};
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    ++builds;
    if (on_build) ATTUNE_RETURN_IF_ERROR(on_build(recipe));
    return Artifact{"compiled " + recipe.source, recipe.warns ? log : ""};
  }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("The counting solver has no executables.");
  }

  // `blocks` of a config have room, and of one that is `large` not even one.
  Result<std::optional<int>> BlocksThatFit(const BuiltCandidate& built,
                                           const Target&) const override {
    if (built.config.contains("large")) {
      return Unsupported("No room for " + built.artifact.bytes + ".");
    }
    if (built.config.contains("misnamed")) return NotFound("There is no such kernel.");
    const auto blocks = built.config.find("blocks");
    if (blocks == built.config.end()) return std::optional<int>();
    return static_cast<int>(std::get<int64_t>(blocks->second));
  }

  mutable std::atomic<int> builds = 0;
  std::function<Status(const BuildRecipe&)> on_build;
  std::string log;  // The compiler's warnings.

 private:
  SolverId id_{"test.counting", 1};
  SolverTraits traits_;
};

}  // namespace attune
