#include "apps/attune/session/kernel_exchange.h"

#include <utility>

#include <fmt/format.h>

namespace attune {

std::vector<BuildRecipe> KernelExchange::LackingIn(KernelCache& cache,
                                                   std::span<const BuildRecipe> recipes) {
  std::vector<BuildRecipe> lacking;
  std::set<Fingerprint> seen = damaged_;
  for (const BuildRecipe& recipe : recipes) {
    if (recipe.empty() || !seen.insert(KernelCacheKey(recipe)).second) continue;
    if (!cache.Find(recipe).has_value()) lacking.push_back(recipe);
  }
  return lacking;
}

Result<size_t> KernelExchange::FetchOne(const BuildRecipe& recipe, KernelCache& cache) {
  ATTUNE_ASSIGN_OR_RETURN(auto bytes, artifacts_.Get(KernelCacheKey(recipe)));
  if (!bytes.has_value()) return size_t{0};
  const size_t size = bytes->size();
  ATTUNE_RETURN_IF_ERROR(cache.Store(recipe, {std::move(*bytes)}));
  return size;
}

void KernelExchange::Fetch(std::span<const BuildRecipe> recipes, KernelCache& cache) {
  const std::vector<BuildRecipe> lacking = LackingIn(cache, recipes);
  if (lacking.empty()) return;
  std::vector<Fingerprint> keys;
  for (const BuildRecipe& recipe : lacking) keys.push_back(KernelCacheKey(recipe));
  const auto kept = artifacts_.Kept(keys);
  if (!kept.ok()) {
    say_(fmt::format("Kernels are compiled here, because the database does not say what it has: {}",
                     kept.error().message()));
    return;
  }
  int64_t count = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < lacking.size(); ++i) {
    if (!kept->contains(keys[i])) continue;
    const auto fetched = FetchOne(lacking[i], cache);
    if (fetched.ok()) {
      ++count;
      bytes += *fetched;
      continue;
    }
    if (fetched.error().code() == StatusCode::kDataLoss) damaged_.insert(keys[i]);
    say_(fmt::format("A kernel of the database is not used and compiled here: {}",
                     fetched.error().message()));
  }
  if (count > 0) say_(fmt::format("Fetched {} kernels of {} bytes.", count, bytes));
}

void KernelExchange::Offer(std::span<const BuiltKernel> kernels) {
  if (kernels.empty()) return;
  const Status kept = artifacts_.Put(kernels, added_by_);
  if (kept.ok()) return;
  say_(fmt::format("Not all that was compiled is kept for others: {}", kept.message()));
}

}  // namespace attune
