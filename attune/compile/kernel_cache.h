// Where compiled code is kept so that no recipe is compiled twice, in this process or in the next
// one.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/solver/solver.h"

namespace attune {

// For this process only; other processes that share a folder count for themselves.
struct KernelCacheCounters {
  int64_t hits = 0;
  int64_t misses = 0;  // Corrupt entries included.
  int64_t stores = 0;
  int64_t evictions = 0;  // Entries that were deleted to stay below the limit.
  int64_t corrupt = 0;    // Entries that were found damaged; each was deleted.

  friend bool operator==(const KernelCacheCounters&, const KernelCacheCounters&) = default;
};

// The name of a recipe's entry: a hash of every field of `recipe`, of their boundaries, and of the
// version of the cache format.
Fingerprint KernelCacheKey(const BuildRecipe& recipe);
// The file of that entry in its folder.
std::string KernelFileName(const BuildRecipe& recipe);

// The right to compile a recipe, given back when it goes.
struct BuildTurn {
  UniqueFd lock;  // Invalid if no other process can be compiling it, or the wait timed out.
  bool is_compiled = false;  // There is an entry by now: another process had the turn before.
};

// Thread-safe.
class KernelCache {
 public:
  virtual ~KernelCache() = default;

  // The artifact of `recipe`, or nothing. An entry that cannot be read or trusted is a miss: the
  // caller compiles again and stores over it.
  virtual std::optional<Artifact> Find(const BuildRecipe& recipe) = 0;
  // True if Find would return an artifact.
  virtual bool Has(const BuildRecipe& recipe) { return Find(recipe).has_value(); }

  // Keeps `artifact`. A failure costs the next process a compilation and nothing else.
  virtual Status Store(const BuildRecipe& recipe, const Artifact& artifact) = 0;

  // Call after a miss and hold the turn until the artifact is stored. Waits while another process,
  // or another cache of this one, has the turn for `recipe`.
  virtual BuildTurn AwaitTurn(const BuildRecipe& recipe) = 0;

  virtual KernelCacheCounters counters() const = 0;
};

// Forgets everything with the process, and the oldest entry once there are more than `entry_limit`.
class MemoryKernelCache final : public KernelCache {
 public:
  static constexpr size_t kDefaultEntryLimit = 4096;

  explicit MemoryKernelCache(size_t entry_limit = kDefaultEntryLimit) : entry_limit_(entry_limit) {}

  std::optional<Artifact> Find(const BuildRecipe& recipe) override;
  Status Store(const BuildRecipe& recipe, const Artifact& artifact) override;
  // No other process can use this cache.
  BuildTurn AwaitTurn(const BuildRecipe&) override { return {}; }
  KernelCacheCounters counters() const override;

 private:
  struct Entry {
    Artifact artifact;
    int64_t age = 0;
  };

  const size_t entry_limit_;
  mutable std::mutex mutex_;  // Guards everything below.
  std::map<Fingerprint, Entry> entries_;
  int64_t next_age_ = 0;
  KernelCacheCounters counters_;
};

struct FolderKernelCacheOptions {
  // Bytes of all entries together. A sweep brings a folder above it down to kSweepTarget of it, the
  // entries that were not used for longest first.
  int64_t limit_bytes = int64_t{1} << 30;
  // A process that compiles one recipe for longer is stuck, or stopped by a debugger; waiting ends.
  std::chrono::milliseconds longest_turn{60'000};
};

// A folder of one file per entry, shared by any number of processes (docs/formats/kernel_cache.md).
// Entries appear by rename, so a process killed at any moment leaves an old entry, a new one or a
// stray temporary file that a later sweep removes.
class FolderKernelCache final : public KernelCache {
 public:
  // A sweep lists the folder, which is too slow for every store of a short-lived process: one store
  // in this many sweeps, and so does a process that alone wrote a tenth of the limit.
  static constexpr uint64_t kStoresPerSweep = 16;
  static constexpr double kSweepTarget = 0.9;
  static constexpr int64_t kMaxArtifactBytes = int64_t{1} << 28;

  // Creates `folder` (mode 0700) if it is absent. kUnavailable if that is impossible, and if
  // another user could put code into it: it is a link, belongs to another user than this process
  // runs as, or its group or others may write. kInvalidArgument if the limit is not positive.
  static Result<std::unique_ptr<FolderKernelCache>> Open(const std::filesystem::path& folder,
                                                         FolderKernelCacheOptions options = {});

  std::optional<Artifact> Find(const BuildRecipe& recipe) override;
  // kResourceExhausted if the artifact exceeds kMaxArtifactBytes or the disk is full.
  Status Store(const BuildRecipe& recipe, const Artifact& artifact) override;
  BuildTurn AwaitTurn(const BuildRecipe& recipe) override;
  KernelCacheCounters counters() const override;

  // Where the entry of `recipe` is, or would be.
  std::filesystem::path PathOf(const BuildRecipe& recipe) const;

  // Deletes entries above the limit, and temporary files of writers that died. Files that other
  // processes delete at the same time are no error.
  void Sweep();

 private:
  FolderKernelCache(std::filesystem::path folder, FolderKernelCacheOptions options);

  const std::filesystem::path folder_;
  const FolderKernelCacheOptions options_;
  std::mutex write_mutex_;         // One writer at a time: temporary names differ by process only.
  int64_t bytes_since_sweep_ = 0;  // Guarded by write_mutex_.
  mutable std::mutex mutex_;       // Guards counters_.
  KernelCacheCounters counters_;
};

}  // namespace attune
