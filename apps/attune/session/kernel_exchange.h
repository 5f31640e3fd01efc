// Compiled code between the kernel cache of this machine and the database of a fleet.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/compile/kernel_cache.h"
#include "attune/session/artifact_store.h"
#include "attune/solver/solver.h"

namespace attune {

// Nothing depends on it: what cannot be fetched is compiled by whoever needs it, what cannot be
// kept by whoever needs that, and both are said. Not thread-safe.
class KernelExchange {
 public:
  using Say = std::function<void(const std::string& line)>;

  // Borrows `artifacts`. `added_by` is whose machine this is.
  KernelExchange(ArtifactStore& artifacts, std::string added_by, Say say)
      : artifacts_(artifacts), added_by_(std::move(added_by)), say_(std::move(say)) {}

  // Stores in `cache` what it lacks of `recipes` and the database has.
  void Fetch(std::span<const BuildRecipe> recipes, KernelCache& cache);
  // Keeps in the database what it lacks of `kernels`.
  void Offer(std::span<const BuiltKernel> kernels);

 private:
  // Those of `recipes` that `cache` lacks and that were not found damaged before.
  std::vector<BuildRecipe> LackingIn(KernelCache& cache, std::span<const BuildRecipe> recipes);
  // How many bytes came; none if it is not there after all.
  Result<size_t> FetchOne(const BuildRecipe& recipe, KernelCache& cache);

  ArtifactStore& artifacts_;
  const std::string added_by_;
  const Say say_;
  std::set<Fingerprint> damaged_;
};

}  // namespace attune
