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

// Optional: a kernel that cannot be fetched is compiled locally, and one that cannot be stored is
// compiled by each machine that needs it; both are reported. Not thread-safe.
class KernelExchange {
 public:
  using Say = std::function<void(const std::string& line)>;

  // Borrows `artifacts`. `added_by` names the owner of this machine.
  KernelExchange(ArtifactStore& artifacts, std::string added_by, Say say)
      : artifacts_(artifacts), added_by_(std::move(added_by)), say_(std::move(say)) {}

  // Stores in `cache` the kernels of `recipes` that it lacks and the database has.
  void Fetch(std::span<const BuildRecipe> recipes, KernelCache& cache);
  // Stores in the database those of `kernels` that it lacks.
  void Offer(std::span<const BuiltKernel> kernels);

 private:
  // The `recipes` that `cache` lacks and that were not found damaged before.
  std::vector<BuildRecipe> LackingIn(KernelCache& cache, std::span<const BuildRecipe> recipes);
  // How many bytes came; none if it is not there after all.
  Result<size_t> FetchOne(const BuildRecipe& recipe, KernelCache& cache);

  ArtifactStore& artifacts_;
  const std::string added_by_;
  const Say say_;
  std::set<Fingerprint> damaged_;
};

}  // namespace attune
