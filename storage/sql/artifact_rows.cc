#include "storage/sql/artifact_rows.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attune/base/base64.h"
#include "attune/base/gzip.h"
#include "attune/base/unix_time.h"
#include "attune/session/artifact_store.h"
#include "storage/sql/free_text.h"
#include "storage/sql/missing_row.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

enum ArtifactColumn : size_t { kId, kKey, kSize, kPacking, kPackedSize, kChunkCount };
enum ChunkColumn : size_t { kChunkId, kArtifactId, kNumber, kContent };
enum BuiltColumn : size_t { kBuiltId, kRecipe, kBuiltArtifactId };

// The packing of all of them; another word is for future readers.
constexpr std::string_view kGzip = "gzip";
constexpr size_t kKeysAtOnce = 64;

// Calls `visit` with each row of `table` that has one of `keys`.
Status ReadByKey(Connection& connection, const Table& table, std::span<const Fingerprint> keys,
                 const std::function<Status(const Fingerprint&, std::span<const Cell>)>& visit) {
  constexpr size_t kKeyColumn = 1;
  static_assert(kKeyColumn == kKey && kKeyColumn == kRecipe);
  while (!keys.empty()) {
    const auto some = keys.first(std::min(kKeysAtOnce, keys.size()));
    keys = keys.subspan(some.size());
    std::string where = "key IN (";
    std::vector<Cell> cells;
    for (size_t i = 0; i < kKeysAtOnce; ++i) {
      // The last one fills the unused parameters, so that one statement is prepared.
      cells.push_back(TextCell(some[std::min(i, some.size() - 1)].ToHex()));
      where += fmt::format("{}:p{}", i == 0 ? "" : ", ", i);
    }
    ATTUNE_RETURN_IF_ERROR(
        ReadRows(connection, {table, where + ")", cells}, [&](std::span<const Cell> row) -> Status {
          const auto key = Fingerprint::FromHex(row[kKeyColumn].text);
          if (!key.has_value()) return DamagedCell(table, row, kKeyColumn, "which is no key");
          return visit(*key, row);
        }));
  }
  return Status::Ok();
}

// The ids of the existing rows of `kernels`.
Result<std::map<Fingerprint, int64_t>> ReadArtifactIds(Connection& connection,
                                                       std::span<const PackedKernel> kernels) {
  std::vector<Fingerprint> contents;
  for (const PackedKernel& kernel : kernels) contents.push_back(kernel.artifact.content);
  std::map<Fingerprint, int64_t> ids;
  ATTUNE_RETURN_IF_ERROR(ReadByKey(connection, ArtifactTable(), contents,
                                   [&](const Fingerprint& content, std::span<const Cell> row) {
                                     ids.emplace(content, row[kId].integer);
                                     return Status::Ok();
                                   }));
  return ids;
}

std::vector<Row> ChunksOf(WriteTransaction& transaction, int64_t artifact_id,
                          std::string_view packed) {
  std::vector<Row> rows;
  for (size_t begin = 0; begin < packed.size(); begin += kChunkBytes) {
    rows.push_back(RowWriter(ArtifactChunkTable())
                       .Integer(transaction.TakeId())
                       .Integer(artifact_id)
                       .Integer(std::ssize(rows))
                       .Text(ToBase64(packed.substr(begin, kChunkBytes)))
                       .Checksum()
                       .Take());
  }
  return rows;
}

// Rows to write together.
struct BuiltRows {
  std::vector<Row> artifacts;
  std::vector<Row> chunks;
  std::vector<Row> built;
};

// Adds the rows of an artifact; returns its id.
int64_t TakeArtifact(WriteTransaction& transaction, const PackedArtifact& artifact,
                     const std::string& added_by, BuiltRows& rows) {
  const int64_t id = transaction.TakeId();
  std::vector<Row> chunks = ChunksOf(transaction, id, artifact.packed);
  rows.artifacts.push_back(RowWriter(ArtifactTable())
                               .Integer(id)
                               .Text(artifact.content.ToHex())
                               .Integer(artifact.size)
                               .Text(kGzip)
                               .Integer(std::ssize(artifact.packed))
                               .Integer(std::ssize(chunks))
                               .Text(FreeText(added_by))
                               .Integer(UnixNowNs())
                               .Checksum()
                               .Take());
  std::move(chunks.begin(), chunks.end(), std::back_inserter(rows.chunks));
  return id;
}

// Its packed bytes, checked against its size.
Result<std::string> ReadPacked(Connection& connection, std::span<const Cell> artifact) {
  const Cell id = artifact[kId];
  std::string packed;
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {ArtifactChunkTable(), "artifact_id = :p0 ORDER BY number", {&id, 1}},
               [&](std::span<const Cell> cells) -> Status {
                 if (cells[kNumber].integer != count) {
                   return DataLoss(fmt::format("Chunk {} of row {} of table artifact is missing.",
                                               count, id.integer));
                 }
                 ++count;
                 const auto bytes = FromBase64(cells[kContent].text);
                 if (!bytes.has_value()) {
                   return DamagedCell(ArtifactChunkTable(), cells, kContent, "which is no base64");
                 }
                 packed += *bytes;
                 return Status::Ok();
               }));
  if (count != artifact[kChunkCount].integer) {
    return DamagedCell(ArtifactTable(), artifact, kChunkCount,
                       fmt::format("but table artifact_chunk has {} such rows", count));
  }
  if (std::ssize(packed) != artifact[kPackedSize].integer) {
    return DamagedCell(ArtifactTable(), artifact, kPackedSize,
                       fmt::format("but its chunks have {} bytes", packed.size()));
  }
  return packed;
}

Result<std::string> Unpacked(Connection& connection, std::span<const Cell> artifact) {
  if (artifact[kPacking].text != kGzip) {
    return DamagedCell(ArtifactTable(), artifact, kPacking, "which this attune cannot unpack");
  }
  const int64_t size = artifact[kSize].integer;
  if (size < 0 || static_cast<size_t>(size) > kMostArtifactBytes) {
    return DamagedCell(ArtifactTable(), artifact, kSize,
                       fmt::format("and 0 to {} are possible", kMostArtifactBytes));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string packed, ReadPacked(connection, artifact));
  auto bytes = Gunzip(packed, static_cast<size_t>(size));
  if (!bytes.ok()) {
    return DataLoss(fmt::format("Row {} of table artifact: {}", artifact[kId].integer,
                                bytes.error().message()));
  }
  const std::string hash = FingerprintOf(*bytes).ToHex();
  if (std::ssize(*bytes) == size && hash == artifact[kKey].text) return bytes;
  return DamagedCell(ArtifactTable(), artifact, kKey,
                     fmt::format("but its {} bytes have the hash {}", bytes->size(), hash));
}

}  // namespace

Result<PackedArtifact> Pack(const std::string& bytes) {
  if (bytes.size() > kMostArtifactBytes) {
    return ResourceExhausted(fmt::format(
        "What was built has {} bytes, and {} are the most that go through a database: whoever "
        "needs it builds it again.",
        bytes.size(), kMostArtifactBytes));
  }
  PackedArtifact artifact;
  artifact.content = FingerprintOf(bytes);
  artifact.size = std::ssize(bytes);
  ATTUNE_ASSIGN_OR_RETURN(artifact.packed, Gzip(bytes));
  return artifact;
}

Result<std::set<Fingerprint>> ReadKept(Connection& connection,
                                       std::span<const Fingerprint> recipes) {
  std::set<Fingerprint> kept;
  ATTUNE_RETURN_IF_ERROR(ReadByKey(connection, BuiltKernelTable(), recipes,
                                   [&](const Fingerprint& recipe, std::span<const Cell>) {
                                     kept.insert(recipe);
                                     return Status::Ok();
                                   }));
  return kept;
}

Status AddBuilt(WriteTransaction& transaction, std::span<const PackedKernel> kernels,
                const std::string& added_by) {
  std::vector<Fingerprint> recipes;
  for (const PackedKernel& kernel : kernels) recipes.push_back(kernel.recipe);
  ATTUNE_ASSIGN_OR_RETURN(auto kept, ReadKept(transaction.connection(), recipes));
  ATTUNE_ASSIGN_OR_RETURN(auto artifact_ids, ReadArtifactIds(transaction.connection(), kernels));
  BuiltRows rows;
  for (const auto& [recipe, artifact] : kernels) {
    if (!kept.insert(recipe).second) continue;
    const auto [found, is_new] = artifact_ids.try_emplace(artifact.content, 0);
    if (is_new) found->second = TakeArtifact(transaction, artifact, added_by, rows);
    rows.built.push_back(RowWriter(BuiltKernelTable())
                             .Integer(transaction.TakeId())
                             .Text(recipe.ToHex())
                             .Integer(found->second)
                             .Checksum()
                             .Take());
  }
  ATTUNE_RETURN_IF_ERROR(transaction.InsertAll(ArtifactTable(), rows.artifacts));
  ATTUNE_RETURN_IF_ERROR(transaction.InsertAll(ArtifactChunkTable(), rows.chunks));
  return transaction.InsertAll(BuiltKernelTable(), rows.built);
}

Result<std::optional<std::string>> ReadBuilt(Connection& connection, const Fingerprint& recipe) {
  const Cell key = TextCell(recipe.ToHex());
  ATTUNE_ASSIGN_OR_RETURN(const auto built,
                          ReadRow(connection, {BuiltKernelTable(), "key = :p0", {&key, 1}}));
  if (!built.has_value()) return std::optional<std::string>();
  const Cell& id = (*built)[kBuiltArtifactId];
  ATTUNE_ASSIGN_OR_RETURN(const auto artifact,
                          ReadRow(connection, {ArtifactTable(), "id = :p0", {&id, 1}}));
  if (!artifact.has_value()) return MissingRow(connection, ArtifactTable(), id.integer);
  ATTUNE_ASSIGN_OR_RETURN(std::string bytes, Unpacked(connection, *artifact));
  return std::optional<std::string>(std::move(bytes));
}

}  // namespace attune::sql
