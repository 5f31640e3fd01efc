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

// What was built, by the key that its recipe has in the kernel cache (KernelCacheKey).
struct BuiltKernel {
  Fingerprint recipe;
  std::string bytes;
};

// Larger ones are kept by nobody but who built them.
inline constexpr size_t kMostArtifactBytes = size_t{64} << 20;

// Kept by the hash of what they are, so that equal code of several recipes is there once. Nothing
// is lost with them: what is missing or damaged is built again. Thread-safe; several processes may
// use one.
class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  // Those of `recipes` of which something is kept.
  virtual Result<std::set<Fingerprint>> Kept(std::span<const Fingerprint> recipes) = 0;
  // Keeps what was built of recipes of which nothing is kept; durable when it returns Ok.
  // kResourceExhausted, with the limit, if one is larger than kMostArtifactBytes: the others are
  // kept all the same.
  virtual Status Put(std::span<const BuiltKernel> kernels, const std::string& added_by) = 0;
  // Bit for bit what was put; nothing if nothing is kept. kDataLoss that says what is wrong: a
  // chunk that is missing or was changed, bytes that have another hash than they are kept by.
  virtual Result<std::optional<std::string>> Get(const Fingerprint& recipe) = 0;
};

}  // namespace attune
