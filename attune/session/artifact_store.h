// Compiled code on its way from the workers that compile to those that measure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"

namespace attune {

// A built artifact, under the key of its recipe in the kernel cache (KernelCacheKey).
struct BuiltKernel {
  Fingerprint recipe;
  std::string bytes;
};

// Larger ones are kept only by the process that built them.
inline constexpr size_t kMostArtifactBytes = size_t{64} << 20;

// Keyed by the hash of the content, so that equal code of several recipes is stored once. The store
// loses nothing of value: missing or damaged artifacts are built again. Thread-safe; several
// processes may use one.
class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  // Those of `recipes` of which something is kept.
  virtual Result<std::set<Fingerprint>> Kept(std::span<const Fingerprint> recipes) = 0;
  // Stores artifacts of recipes without one; durable when it returns Ok. kResourceExhausted, with
  // the limit, if one is larger than kMostArtifactBytes: the others are still stored.
  virtual Status Put(std::span<const BuiltKernel> kernels, const std::string& added_by) = 0;
  // The stored bytes, bit for bit; empty if there are none. kDataLoss names the damage: a chunk
  // that is missing or was changed, bytes with another hash than their key.
  virtual Result<std::optional<std::string>> Get(const Fingerprint& recipe) = 0;
};

}  // namespace attune
