// The ArtifactStore over a database.
#include "attune/session/artifact_store.h"

#include <memory>
#include <utility>

#include "storage/sql/artifact_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace sql {
namespace {

// Packed bytes that one transaction writes while other writers wait: some ten milliseconds.
constexpr size_t kBytesAtOnce = size_t{4} << 20;

class SqlArtifactStore final : public ArtifactStore {
 public:
  explicit SqlArtifactStore(std::shared_ptr<SqlDatabase> database)
      : database_(std::move(database)) {}

  Result<std::set<Fingerprint>> Kept(std::span<const Fingerprint> recipes) override {
    std::set<Fingerprint> kept;
    const Status read =
        database_->ReadIfAny(BuiltKernelTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(kept, ReadKept(connection, recipes));
          return Status::Ok();
        });
    if (!read.ok()) return read;
    return kept;
  }

  Status Put(std::span<const BuiltKernel> kernels, const std::string& added_by) override {
    std::vector<Fingerprint> recipes;
    for (const BuiltKernel& kernel : kernels) recipes.push_back(kernel.recipe);
    ATTUNE_ASSIGN_OR_RETURN(const auto kept, Kept(recipes));
    Status first_refused;
    std::vector<PackedKernel> packed;
    size_t bytes = 0;
    for (const BuiltKernel& kernel : kernels) {
      if (kept.contains(kernel.recipe)) continue;
      auto artifact = Pack(kernel.bytes);
      if (!artifact.ok()) {
        if (first_refused.ok()) first_refused = artifact.error();
        continue;
      }
      bytes += artifact->packed.size();
      packed.push_back({kernel.recipe, std::move(*artifact)});
      if (bytes < kBytesAtOnce) continue;
      ATTUNE_RETURN_IF_ERROR(Write(packed, added_by));
      packed.clear();
      bytes = 0;
    }
    ATTUNE_RETURN_IF_ERROR(Write(packed, added_by));
    return first_refused;
  }

  Result<std::optional<std::string>> Get(const Fingerprint& recipe) override {
    std::optional<std::string> bytes;
    const Status read =
        database_->ReadIfAny(BuiltKernelTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(bytes, ReadBuilt(connection, recipe));
          return Status::Ok();
        });
    if (!read.ok()) return read;
    return bytes;
  }

 private:
  Status Write(const std::vector<PackedKernel>& packed, const std::string& added_by) {
    if (packed.empty()) return Status::Ok();
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      return AddBuilt(transaction, packed, added_by);
    });
  }

  const std::shared_ptr<SqlDatabase> database_;
};

}  // namespace
}  // namespace sql

std::unique_ptr<ArtifactStore> ArtifactsIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlArtifactStore>(std::move(database));
}

}  // namespace attune
