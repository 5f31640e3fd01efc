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

// Of packed bytes in one row, whose text is a third longer.
inline constexpr size_t kChunkBytes = size_t{192} << 10;

// Bytes as they are kept.
struct PackedArtifact {
  Fingerprint content;  // Of the bytes as they were.
  int64_t size = 0;     // Theirs.
  std::string packed;
};

// kResourceExhausted, with the limit, if there are more than kMostArtifactBytes.
Result<PackedArtifact> Pack(const std::string& bytes);

// Those of `recipes` that have a row.
Result<std::set<Fingerprint>> ReadKept(Connection& connection,
                                       std::span<const Fingerprint> recipes);
// What a recipe gave.
struct PackedKernel {
  Fingerprint recipe;
  PackedArtifact artifact;
};

// Says what recipes gave, and adds what nobody has yet. Nothing of a recipe of which something is
// kept already.
Status AddBuilt(WriteTransaction& transaction, std::span<const PackedKernel> kernels,
                const std::string& added_by);
// What `recipe` gave, whole; nothing if it has no row. kDataLoss names what is damaged.
Result<std::optional<std::string>> ReadBuilt(Connection& connection, const Fingerprint& recipe);

}  // namespace attune::sql
