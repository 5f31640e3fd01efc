// A candidate of a solver of products as a part of another candidate: how it is written in that
// one's config, and which of them are worth trying.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune::cuda {

// A config has `gemm`, the solver's name, which invalidates the record when that solver's library
// or kernel file changes; `gemm_version`; and `fields`, its config as a word: TILE_M:64.TILE_N:32,
// or `none`.
struct InnerProduct {
  const Solver& solver;
  Config config;
};

// The solvers that may compute a product inside of another candidate. Thread-safe, as they are.
class InnerProducts {
 public:
  // Limits of the configs per solver, and of all. Each costs a build, and the work around the
  // product costs the same with each. Configs that libraries list on a device are not among them:
  // listing takes seconds for every way of every solver.
  static constexpr size_t kMostOfSolver = 4;
  static constexpr size_t kMost = 24;

  // Best guess first. Borrows all, which are of one backend and compute products.
  explicit InnerProducts(std::vector<const Solver*> solvers) : solvers_(std::move(solvers)) {}

  // Ok if one of them takes `gemm`; else the first one's reason, or kUnsupported if there is none.
  Status IsApplicable(const Gemm& gemm, const Target& target) const;

  // The default of the first that takes `gemm`.
  Result<Config> DefaultConfig(const Gemm& gemm, const Target& target) const;
  // The default of each, then the second of each, and so on.
  Result<std::vector<Config>> Configs(const Gemm& gemm, const Target& target) const;

  // kUnsupported if there is no such solver here in that version, or if the text of its config is
  // invalid.
  Result<InnerProduct> Named(const Config& config) const;

  // The recipe of `gemm` for the solver and config that `config` names. kUnsupported as above, and
  // where the solver does not take `gemm` or has no such config for it: solvers read configs of
  // their own only. Library-listed configs are checked by their solvers when they are loaded.
  Result<BuildRecipe> RecipeOf(const Gemm& gemm, const Config& config, const Target& target) const;

 private:
  std::vector<const Solver*> Taking(const Gemm& gemm, const Target& target) const;

  const std::vector<const Solver*> solvers_;
};

// kUnsupported for values that cannot be separated from the text around them: reals, and words with
// one of ".:".
Result<Config> ConfigNaming(const SolverId& solver, const Config& config);

// Joins the recipes of a candidate in two programs, either of which may be empty. REQUIRES: both
// are for the same compiler and target.
BuildRecipe Together(const BuildRecipe& outer, const BuildRecipe& inner);
// The inverse. A recipe of one program only is `outer`.
struct TwoRecipes {
  BuildRecipe outer;
  BuildRecipe inner;
};
TwoRecipes Parts(const BuildRecipe& recipe);

// Likewise for artifacts; kInvalidArgument if `artifact` is not of two programs.
Artifact Together(const Artifact& outer, const Artifact& inner);
struct TwoArtifacts {
  Artifact outer;
  Artifact inner;
};
Result<TwoArtifacts> Parts(const Artifact& artifact);

}  // namespace attune::cuda
