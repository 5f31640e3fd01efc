#include "attune/compile/kernel_cache.h"

#include <cstdlib>

#include <algorithm>

#include <fmt/format.h>

namespace attune {
namespace {

// Bumped when old entries become invalid: for a new layout, or a new meaning of some backend's
// Artifact.
constexpr uint32_t kKeyVersion = 1;

// The length before the text keeps ("ab", "c") and ("a", "bc") apart.
void AppendField(std::string& bytes, std::string_view field) {
  bytes += fmt::format("{}:", field.size());
  bytes += field;
}

}  // namespace

Fingerprint KernelCacheKey(const BuildRecipe& recipe) {
  std::string bytes = fmt::format("attune kernel {}\n", kKeyVersion);
  AppendField(bytes, recipe.source);
  AppendField(bytes, recipe.options);
  AppendField(bytes, recipe.compiler);
  AppendField(bytes, recipe.target);
  return FingerprintOf(bytes);
}

std::optional<Artifact> MemoryKernelCache::Find(const BuildRecipe& recipe) {
  const Fingerprint key = KernelCacheKey(recipe);
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) {
    ++counters_.misses;
    return std::nullopt;
  }
  ++counters_.hits;
  entry->second.age = next_age_++;
  return entry->second.artifact;
}

Status MemoryKernelCache::Store(const BuildRecipe& recipe, const Artifact& artifact) {
  const Fingerprint key = KernelCacheKey(recipe);
  const std::lock_guard lock(mutex_);
  entries_[key] = Entry{artifact, next_age_++};
  ++counters_.stores;
  if (entries_.size() > entry_limit_) {
    const auto older = [](const auto& a, const auto& b) { return a.second.age < b.second.age; };
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), older));
    ++counters_.evictions;
  }
  return Status::Ok();
}

KernelCacheCounters MemoryKernelCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace attune
