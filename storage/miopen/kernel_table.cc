#include "storage/miopen/kernel_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "storage/miopen/sqlite_file.h"

namespace attune::miopen {
namespace {

constexpr std::string_view kColumns[] = {"id",          "kernel_name", "kernel_args",
                                         "kernel_blob", "kernel_hash", "uncompressed_size"};
constexpr std::string_view kTableSql =
    "CREATE TABLE IF NOT EXISTS `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT "
    "NULL,`kernel_args` TEXT NOT NULL,`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT "
    "NULL,`uncompressed_size` INT NOT NULL)";
constexpr std::string_view kIndexSql =
    "CREATE UNIQUE INDEX IF NOT EXISTS `idx_kern_db` ON kern_db(kernel_name, kernel_args)";

bool IsHash(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// The row, or why it is invalid.
Result<KernelRow> RowOf(const SqliteStatement& columns) {
  KernelRow row;
  row.id = std::max<int64_t>(columns.Integer(0).value_or(0), 0);
  const auto bad = [&row](std::string_view why) {
    return InvalidArgument(fmt::format("Row {} of table kern_db: column {}", row.id, why));
  };
  if (row.id == 0) return bad("id holds no number of a row.");
  const auto name = columns.Text(1);
  if (!name || name->empty()) return bad("kernel_name holds no text.");
  const auto options = columns.Text(2);
  if (!options) return bad("kernel_args holds no text.");
  const auto blob = columns.Blob(3);
  if (!blob || blob->empty()) return bad("kernel_blob holds no bytes.");
  const auto hash = columns.Text(4);
  if (!hash || !IsHash(*hash)) return bad("kernel_hash holds no 32 hexadecimal digits.");
  const auto bytes = columns.Integer(5);
  if (!bytes || *bytes < 0 || *bytes > kMaxCodeBytes) {
    return bad(fmt::format("uncompressed_size holds no number of at most {}.", kMaxCodeBytes));
  }
  row.name = *name;
  row.options = *options;
  row.blob = *blob;
  row.hash = *hash;
  row.code_bytes = *bytes;
  return row;
}

class TableWriter : public KernelWriter {
 public:
  TableWriter(SqliteFile file, SqliteStatement insert)
      : file_(std::move(file)), insert_(std::move(insert)) {}

  Status Add(const KernelRow& row) override {
    insert_->Bind(row.name)
        .Bind(row.options)
        .BindBlob(row.blob)
        .Bind(row.hash)
        .Bind(row.code_bytes);
    return insert_->Run();
  }

  Status Commit() override {
    insert_.reset();
    return file_.Commit();
  }

 private:
  SqliteFile file_;
  std::optional<SqliteStatement> insert_;  // Destroyed before the file.
};

Status VisitRows(SqliteFile& file, Findings& findings,
                 const std::function<Status(const KernelRow&)>& visit) {
  ATTUNE_RETURN_IF_ERROR(file.CheckTable("kern_db", kColumns));
  ATTUNE_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      file.Prepare("SELECT id, kernel_name, kernel_args, kernel_blob, kernel_hash, "
                   "uncompressed_size FROM kern_db ORDER BY id"));
  // MIOpen's own index allows each once, but a file of other programs may lack it.
  std::map<std::pair<std::string, std::string>, int64_t> row_of;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_row, rows.Next());
    if (!has_row) return Status::Ok();
    const auto row = RowOf(rows);
    if (!row.ok()) {
      const int64_t id = std::max<int64_t>(rows.Integer(0).value_or(0), 0);
      findings.Add(FindingKind::kBadRow, static_cast<uint64_t>(id), row.error().message());
      continue;
    }
    const auto [first, is_new] = row_of.try_emplace({row->name, row->options}, row->id);
    if (is_new) {
      ATTUNE_RETURN_IF_ERROR(visit(*row));
      continue;
    }
    findings.Add(FindingKind::kDuplicateKey, static_cast<uint64_t>(row->id),
                 fmt::format("Row {} of table kern_db is row {} again: '{}' with '{}'.", row->id,
                             first->second, row->name, row->options));
  }
}

}  // namespace

Status ReadKernels(const std::filesystem::path& path, Findings& findings,
                   const std::function<Status(const KernelRow&)>& visit) {
  ATTUNE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::OpenToRead(path));
  // An error of the visitor is not about this file, so it gets no context.
  Status visited;
  const Status read = VisitRows(file, findings, [&](const KernelRow& row) {
    visited = visit(row);
    return visited;
  });
  if (!visited.ok()) return visited;
  return read.WithContext(fmt::format(
      "Reading '{}', which by its name is a kernel-db with a table 'kern_db'", path.string()));
}

Result<std::unique_ptr<KernelWriter>> KernelWriter::Create(const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::Create(path));
  ATTUNE_RETURN_IF_ERROR(file.Execute(std::string(kTableSql)));
  ATTUNE_RETURN_IF_ERROR(file.Execute(std::string(kIndexSql)));
  ATTUNE_ASSIGN_OR_RETURN(
      SqliteStatement insert,
      file.Prepare("INSERT OR REPLACE INTO kern_db (kernel_name, kernel_args, kernel_blob, "
                   "kernel_hash, uncompressed_size) VALUES (?1, ?2, ?3, ?4, ?5)"));
  return std::unique_ptr<KernelWriter>(
      std::make_unique<TableWriter>(std::move(file), std::move(insert)));
}

}  // namespace attune::miopen
