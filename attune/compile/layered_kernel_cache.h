// Kernels that others have compiled, beneath those of the user.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/compile/kernel_cache.h"

namespace attune {

// A folder of entries as FolderKernelCache writes them, which is only read: nothing in it is
// touched, evicted or mended, and it may be on a read-only file system. Thread-safe.
class PackagedKernels final : public KernelCache {
 public:
  // True if `content` is right for the file called `name`. Called before the content is used, on
  // any thread.
  using EntryCheck = std::function<bool(const std::string& name, std::string_view content)>;

  // kNotFound if there is no such folder. kUnavailable if another user could put code into it: it
  // is a link, belongs to neither this user nor the superuser, or its group or others may write.
  static Result<std::unique_ptr<PackagedKernels>> Open(const std::filesystem::path& folder,
                                                       EntryCheck check);

  // An entry that another user could have written, or that `check` refuses, is a miss, too.
  std::optional<Artifact> Find(const BuildRecipe& recipe) override;
  // kFailedPrecondition: a package is never written.
  Status Store(const BuildRecipe& recipe, const Artifact& artifact) override;
  // Compiled code is not stored here.
  BuildTurn AwaitTurn(const BuildRecipe&) override { return {}; }
  KernelCacheCounters counters() const override;

 private:
  PackagedKernels(std::filesystem::path folder, EntryCheck check)
      : folder_(std::move(folder)), check_(std::move(check)) {}

  const std::filesystem::path folder_;
  const EntryCheck check_;
  mutable std::mutex mutex_;  // Guards counters_.
  KernelCacheCounters counters_;
};

// The user's own kernels over those of packages. Thread-safe.
class LayeredKernelCache final : public KernelCache {
 public:
  LayeredKernelCache(std::unique_ptr<KernelCache> own,
                     std::vector<std::unique_ptr<KernelCache>> packages);

  // The first that has it, the user's own before the packages in their order.
  std::optional<Artifact> Find(const BuildRecipe& recipe) override;
  // Into the user's own.
  Status Store(const BuildRecipe& recipe, const Artifact& artifact) override;
  BuildTurn AwaitTurn(const BuildRecipe& recipe) override { return own_->AwaitTurn(recipe); }
  // A hit anywhere is a hit; the other counters are those of the user's own cache.
  KernelCacheCounters counters() const override;

 private:
  const std::unique_ptr<KernelCache> own_;
  const std::vector<std::unique_ptr<KernelCache>> packages_;
};

// The entries of another cache that this process used last, in memory: a kernel that computes every
// size is read from the disk once. An entry that was not there is looked for again a second later.
// Thread-safe.
class RecentKernelCache final : public KernelCache {
 public:
  static constexpr size_t kDefaultLimitBytes = size_t{64} << 20;

  explicit RecentKernelCache(std::unique_ptr<KernelCache> cache,
                             size_t limit_bytes = kDefaultLimitBytes)
      : cache_(std::move(cache)), limit_bytes_(limit_bytes) {}

  std::optional<Artifact> Find(const BuildRecipe& recipe) override;
  bool Has(const BuildRecipe& recipe) override;
  Status Store(const BuildRecipe& recipe, const Artifact& artifact) override;
  BuildTurn AwaitTurn(const BuildRecipe& recipe) override;
  // A hit in memory is a hit; the other counters are those of the other cache.
  KernelCacheCounters counters() const override;

 private:
  // Newest first.
  using Entries = std::list<std::pair<Fingerprint, Artifact>>;

  // Reads the entry of `recipe` into memory unless it is there. Returns null if there is none; the
  // artifact is valid while `lock`, which is released meanwhile, is held. REQUIRES: it holds
  // mutex_.
  const Artifact* Load(const BuildRecipe& recipe, std::unique_lock<std::mutex>& lock);
  // Drops the oldest entries above the limit, but never this one. REQUIRES: mutex_ is held.
  const Artifact& Keep(const Fingerprint& key, Artifact artifact);

  const std::unique_ptr<KernelCache> cache_;
  const size_t limit_bytes_;
  mutable std::mutex mutex_;  // Guards the next members.
  Entries entries_;
  std::map<Fingerprint, Entries::iterator> places_;
  size_t size_bytes_ = 0;
  // When each entry that was not there is looked for again.
  std::map<Fingerprint, std::chrono::steady_clock::time_point> missed_;
  int64_t hits_ = 0;
};

}  // namespace attune
