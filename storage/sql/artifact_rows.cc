#include "storage/sql/artifact_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attune/base/base64.h"
#include "attune/base/gzip.h"
#include "attune/base/unix_time.h"
#include "attune/fleet/artifact_store.h"
#include "storage/sql/free_text.h"
#include "storage/sql/missing_row.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

enum ArtifactColumn : size_t { kId, kKey, kSize, kPacking, kPackedSize, kChunkCount };
enum ChunkColumn : size_t { kChunkId, kArtifactId, kNumber, kContent };
enum BuiltColumn : size_t { kBuiltId, kRecipe, kBuiltArtifactId };

// How all of them are packed; another word is for readers to come.
constexpr std::string_view kGzip = "gzip";
constexpr size_t kRecipesAtOnce = 64;

Result<std::optional<Row>> FindArtifact(Connection& connection, const Fingerprint& content) {
  const Cell key = TextCell(content.ToHex());
  return ReadRow(connection, {ArtifactTable(), "key = :p0", {&key, 1}});
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

// The id of the row that has it then.
Result<int64_t> AddArtifact(WriteTransaction& transaction, const PackedArtifact& artifact,
                            const std::string& added_by) {
  ATTUNE_ASSIGN_OR_RETURN(const auto found,
                          FindArtifact(transaction.connection(), artifact.content));
  if (found.has_value()) return (*found)[kId].integer;
  const int64_t id = transaction.TakeId();
  const std::vector<Row> chunks = ChunksOf(transaction, id, artifact.packed);
  ATTUNE_RETURN_IF_ERROR(
      transaction.Insert(ArtifactTable(), RowWriter(ArtifactTable())
                                              .Integer(id)
                                              .Text(artifact.content.ToHex())
                                              .Integer(artifact.size)
                                              .Text(kGzip)
                                              .Integer(std::ssize(artifact.packed))
                                              .Integer(std::ssize(chunks))
                                              .Text(FreeText(added_by))
                                              .Integer(UnixNowNs())
                                              .Checksum()
                                              .Take()));
  ATTUNE_RETURN_IF_ERROR(transaction.InsertAll(ArtifactChunkTable(), chunks));
  return id;
}

// Its packed bytes, as many as it says.
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
  while (!recipes.empty()) {
    const auto some = recipes.first(std::min(kRecipesAtOnce, recipes.size()));
    recipes = recipes.subspan(some.size());
    std::string where = "key IN (";
    std::vector<Cell> keys;
    for (size_t i = 0; i < kRecipesAtOnce; ++i) {
      // The last stands for what is missing, so that one statement is prepared.
      keys.push_back(TextCell(some[std::min(i, some.size() - 1)].ToHex()));
      where += fmt::format("{}:p{}", i == 0 ? "" : ", ", i);
    }
    ATTUNE_RETURN_IF_ERROR(ReadRows(connection, {BuiltKernelTable(), where + ")", keys},
                                    [&](std::span<const Cell> cells) -> Status {
                                      const auto recipe = Fingerprint::FromHex(cells[kRecipe].text);
                                      if (!recipe.has_value()) {
                                        return DamagedCell(BuiltKernelTable(), cells, kRecipe,
                                                           "which is no key");
                                      }
                                      kept.insert(*recipe);
                                      return Status::Ok();
                                    }));
  }
  return kept;
}

Status AddBuilt(WriteTransaction& transaction, const Fingerprint& recipe,
                const PackedArtifact& artifact, const std::string& added_by) {
  ATTUNE_ASSIGN_OR_RETURN(const auto kept, ReadKept(transaction.connection(), {&recipe, 1}));
  if (!kept.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const int64_t artifact_id, AddArtifact(transaction, artifact, added_by));
  return transaction.Insert(BuiltKernelTable(), RowWriter(BuiltKernelTable())
                                                    .Integer(transaction.TakeId())
                                                    .Text(recipe.ToHex())
                                                    .Integer(artifact_id)
                                                    .Checksum()
                                                    .Take());
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
