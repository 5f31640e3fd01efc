// The ImportStore over a database.
#include "attune/record/import_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/alive_mark.h"
#include "storage/sql/import_rows.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace sql {
namespace {

Status ValidateName(std::string_view what, std::string_view name) {
  if (!name.empty() && name.size() <= kMaxImportedName) return Status::Ok();
  return InvalidArgument(fmt::format("The {} of an imported file has {} bytes; 1 to {} are kept.",
                                     what, name.size(), kMaxImportedName));
}

Status ValidateLine(const ImportedLine& line) {
  const bool is_printable =
      std::all_of(line.text.begin(), line.text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (is_printable && line.number >= 1) return Status::Ok();
  return InvalidArgument(fmt::format(
      "Line {} of an imported file holds bytes that are no printable ASCII, or has no number.",
      line.number));
}

// Lines that one transaction removes: other processes want to write, too, and one line of a kernel
// has 36 KiB.
constexpr int64_t kRemovedAtOnce = 4000;

// Returns true if another finished file has the content of `file`.
Result<bool> IsKnown(Connection& connection, const ImportedFile& file) {
  ATTUNE_ASSIGN_OR_RETURN(const auto files, ReadImports(connection));
  return std::any_of(files.begin(), files.end(), [&](const ImportedFile& each) {
    return each.revision != 0 && each.kind == file.kind && each.target == file.target &&
           each.content == file.content;
  });
}

class SqlImportStore final : public ImportStore {
 public:
  explicit SqlImportStore(std::shared_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Result<int64_t> Begin(const ImportedFile& file) override {
    ATTUNE_RETURN_IF_ERROR(ValidateName("kind", file.kind));
    ATTUNE_RETURN_IF_ERROR(ValidateName("target", file.target));
    ATTUNE_RETURN_IF_ERROR(ValidateName("name", file.name));
    int64_t id = 0;
    AliveMark mark;
    ATTUNE_RETURN_IF_ERROR(
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(id, InsertImport(transaction, file));
          // A retry may get the same number, and only one connection can mark it.
          mark = AliveMark();
          // Set before other processes can see the file.
          ATTUNE_ASSIGN_OR_RETURN(mark, database_->Mark(kFirstImportMark + id));
          return Status::Ok();
        }));
    const std::lock_guard lock(mutex_);
    marks_.emplace(id, std::move(mark));
    return id;
  }

  Status Append(int64_t file_id, std::span<const ImportedLine> lines) override {
    for (const ImportedLine& line : lines) ATTUNE_RETURN_IF_ERROR(ValidateLine(line));
    return Change(file_id, [&](WriteTransaction& transaction, ImportedFile& file) -> Status {
      for (const ImportedLine& line : lines) {
        ATTUNE_RETURN_IF_ERROR(InsertImportedLine(transaction, file_id, line));
      }
      file.line_count += static_cast<int64_t>(lines.size());
      return Status::Ok();
    });
  }

  Result<ImportEnd> Finish(int64_t file_id) override {
    bool is_known = false;
    // Checked with the write lock: of two that finish at the same time, the second sees the first.
    ATTUNE_RETURN_IF_ERROR(
        Change(file_id, [&](WriteTransaction& transaction, ImportedFile& file) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(is_known, IsKnown(transaction.connection(), file));
          if (!is_known) file.revision = transaction.TakeId();
          return Status::Ok();
        }));
    if (is_known) ATTUNE_RETURN_IF_ERROR(Remove(file_id));
    const std::lock_guard lock(mutex_);
    marks_.erase(file_id);
    return is_known ? ImportEnd::kKnown : ImportEnd::kKept;
  }

  Result<bool> Renew(int64_t file_id) override {
    bool is_older = false;
    ATTUNE_RETURN_IF_ERROR(
        database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(auto file, ReadImport(transaction.connection(), file_id));
          if (!file.has_value() || file->revision == 0) return Unknown(file_id);
          ATTUNE_ASSIGN_OR_RETURN(const auto files, ReadImports(transaction.connection()));
          is_older = std::any_of(files.begin(), files.end(), [&](const ImportedFile& each) {
            return each.kind == file->kind && each.target == file->target &&
                   each.revision > file->revision;
          });
          if (!is_older) return Status::Ok();
          file->revision = transaction.TakeId();
          return UpdateImport(transaction, *file);
        }));
    return is_older;
  }

  Status RemoveAbandoned() override {
    std::vector<ImportedFile> files;
    ATTUNE_RETURN_IF_ERROR(
        database_->ReadIfAny(ImportedLineTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(files, ReadImports(connection));
          return Status::Ok();
        }));
    for (const ImportedFile& file : files) {
      if (file.revision != 0 || database_->IsMarked(kFirstImportMark + file.id)) continue;
      ATTUNE_RETURN_IF_ERROR(Remove(file.id));
    }
    return Status::Ok();
  }

  Result<std::vector<ImportedFile>> Files() override {
    std::vector<ImportedFile> files;
    const Status read =
        database_->ReadIfAny(ImportedLineTable(), [&](Connection& connection) -> Status {
          ATTUNE_ASSIGN_OR_RETURN(files, ReadImports(connection));
          std::erase_if(files, [](const ImportedFile& file) { return file.revision == 0; });
          return Status::Ok();
        });
    if (!read.ok()) return read;
    return files;
  }

  Status Visit(int64_t file_id, const std::function<Status(const ImportedLine&)>& visit) override {
    return database_->ReadIfAny(ImportedLineTable(), [&](Connection& connection) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(const auto file, ReadImport(connection, file_id));
      if (!file.has_value()) return Unknown(file_id);
      return ReadImportedLines(connection, *file, visit);
    });
  }

  Result<std::vector<std::pair<ImportedFile, ImportedLine>>> Find(const Fingerprint& key) override {
    std::map<int64_t, std::vector<ImportedLine>> lines;  // By file, in order.
    std::vector<std::pair<ImportedFile, ImportedLine>> found;
    const Status read =
        database_->ReadIfAny(ImportedLineTable(), [&](Connection& connection) -> Status {
          ATTUNE_RETURN_IF_ERROR(
              FindImportedLines(connection, key, [&](int64_t file_id, const ImportedLine& line) {
                lines[file_id].push_back(line);
                return Status::Ok();
              }));
          for (auto& [file_id, of_file] : lines) {
            ATTUNE_ASSIGN_OR_RETURN(const auto file, ReadImport(connection, file_id));
            if (!file.has_value()) return Unknown(file_id);
            if (file->revision == 0) continue;
            for (ImportedLine& line : of_file) found.emplace_back(*file, std::move(line));
          }
          std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
            return a.first.revision > b.first.revision;
          });
          return Status::Ok();
        });
    if (!read.ok()) return read;
    return found;
  }

 private:
  static Status Unknown(int64_t file_id) {
    return NotFound(fmt::format("No imported file has the id {}; begin one first.", file_id));
  }

  // Removes an unfinished file, in steps; does nothing if it is finished or gone.
  Status Remove(int64_t file_id) {
    bool has_gone = false;
    while (!has_gone) {
      ATTUNE_RETURN_IF_ERROR(
          database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
            ATTUNE_ASSIGN_OR_RETURN(has_gone, RemoveSome(transaction, file_id));
            return Status::Ok();
          }));
    }
    return Status::Ok();
  }

  // Returns true if nothing is left.
  static Result<bool> RemoveSome(WriteTransaction& transaction, int64_t file_id) {
    ATTUNE_ASSIGN_OR_RETURN(auto file, ReadImport(transaction.connection(), file_id));
    if (!file.has_value() || file->revision != 0) return true;
    ATTUNE_ASSIGN_OR_RETURN(const int64_t removed,
                            RemoveImportedLines(transaction, file_id, kRemovedAtOnce));
    if (removed < kRemovedAtOnce) {
      ATTUNE_RETURN_IF_ERROR(RemoveImport(transaction, file_id));
      return true;
    }
    file->line_count -= removed;
    ATTUNE_RETURN_IF_ERROR(UpdateImport(transaction, *file));
    return false;
  }

  Status Change(int64_t file_id,
                const std::function<Status(WriteTransaction&, ImportedFile&)>& body) {
    return database_->Write([&](DatabaseSession&, WriteTransaction& transaction) -> Status {
      ATTUNE_ASSIGN_OR_RETURN(auto file, ReadImport(transaction.connection(), file_id));
      if (!file.has_value()) return Unknown(file_id);
      if (file->revision != 0) {
        return FailedPrecondition(
            fmt::format("Imported file {} is finished; import it as a new one.", file_id));
      }
      ATTUNE_RETURN_IF_ERROR(body(transaction, *file));
      return UpdateImport(transaction, *file);
    });
  }

  const std::shared_ptr<SqlDatabase> database_;
  std::mutex mutex_;                    // Guards marks_.
  std::map<int64_t, AliveMark> marks_;  // By id, of files that are being imported.
};

}  // namespace
}  // namespace sql

std::unique_ptr<ImportStore> ImportsIn(std::shared_ptr<SqlDatabase> database) {
  return std::make_unique<sql::SqlImportStore>(std::move(database));
}

}  // namespace attune
