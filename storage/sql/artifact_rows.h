// Rows of `artifact`, `artifact_chunk` and `built_kernel`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Packed bytes in one row; their text is a third longer.
inline constexpr size_t kChunkBytes = size_t{192} << 10;

// Bytes in their stored form.
struct PackedArtifact {
  Fingerprint content;  // Hash of the unpacked bytes.
  int64_t size = 0;     // Size of the unpacked bytes.
  std::string packed;
};

// kResourceExhausted, with the limit, if there are more than kMostArtifactBytes.
Result<PackedArtifact> Pack(const std::string& bytes);

// The ones of `recipes` that have a row.
Result<std::set<Fingerprint>> ReadKept(Connection& connection,
                                       std::span<const Fingerprint> recipes);
// The output of a recipe.
struct PackedKernel {
  Fingerprint recipe;
  PackedArtifact artifact;
};

// Adds the output of recipes with its provenance. Skips a recipe that has any output already.
Status AddBuilt(WriteTransaction& transaction, std::span<const PackedKernel> kernels,
                const std::string& added_by);
// The complete output of `recipe`; nothing if it has no row. kDataLoss names the damaged part.
Result<std::optional<std::string>> ReadBuilt(Connection& connection, const Fingerprint& recipe);

}  // namespace attune::sql
