#include "storage/sql/import_rows.h"

#include <span>

#include <fmt/format.h>

#include "storage/sql/free_text.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

enum FileColumn : size_t {
  kId,
  kKind,
  kTarget,
  kContentKey,
  kFileName,
  kImportedBy,
  kImportedUnixNs,
  kRevision,
  kLineCount,
};
enum LineColumn : size_t { kLineId, kFileId, kKey, kNumber, kContent };

Row FileRow(const ImportedFile& file) {
  return RowWriter(ImportedFileTable())
      .Integer(file.id)
      .Text(FreeText(file.kind))
      .Text(FreeText(file.target))
      .Text(file.content.ToHex())
      .Text(FreeText(file.name))
      .Text(FreeText(file.imported_by))
      .Integer(file.imported_unix_ns)
      .Integer(file.revision)
      .Integer(file.line_count)
      .Checksum()
      .Take();
}

Result<ImportedFile> ParseFile(std::span<const Cell> row) {
  ImportedFile file;
  file.id = row[kId].integer;
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(ImportedFileTable(), row, kKind, file.kind));
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(ImportedFileTable(), row, kTarget, file.target));
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(ImportedFileTable(), row, kFileName, file.name));
  ATTUNE_RETURN_IF_ERROR(TakeFreeText(ImportedFileTable(), row, kImportedBy, file.imported_by));
  const auto content = Fingerprint::FromHex(row[kContentKey].text);
  if (!content.has_value()) {
    return DamagedCell(ImportedFileTable(), row, kContentKey, "which is no fingerprint");
  }
  file.content = *content;
  file.imported_unix_ns = row[kImportedUnixNs].integer;
  file.line_count = row[kLineCount].integer;
  file.revision = row[kRevision].integer;
  return file;
}

Result<ImportedLine> ParseLine(std::span<const Cell> row) {
  const auto key = Fingerprint::FromHex(row[kKey].text);
  if (!key.has_value()) {
    return DamagedCell(ImportedLineTable(), row, kKey, "which is no fingerprint");
  }
  return ImportedLine{*key, row[kNumber].integer, row[kContent].text};
}

}  // namespace

Result<int64_t> InsertImport(WriteTransaction& transaction, const ImportedFile& file) {
  ImportedFile begun = file;
  begun.id = transaction.TakeId();
  begun.line_count = 0;
  begun.revision = 0;
  ATTUNE_RETURN_IF_ERROR(transaction.Insert(ImportedFileTable(), FileRow(begun)));
  return begun.id;
}

Status UpdateImport(WriteTransaction& transaction, const ImportedFile& file) {
  return transaction.Update(ImportedFileTable(), FileRow(file));
}

Status InsertImportedLine(WriteTransaction& transaction, int64_t file_id,
                          const ImportedLine& line) {
  return transaction.Insert(ImportedLineTable(), RowWriter(ImportedLineTable())
                                                     .Integer(transaction.TakeId())
                                                     .Integer(file_id)
                                                     .Text(line.key.ToHex())
                                                     .Integer(line.number)
                                                     .Text(line.text)
                                                     .Checksum()
                                                     .Take());
}

Result<int64_t> RemoveImportedLines(WriteTransaction& transaction, int64_t file_id, int64_t most) {
  // Not IN (SELECT ... LIMIT), which MariaDB does not support.
  constexpr std::string_view kSql =
      "DELETE FROM imported_line WHERE file_id = :p0 AND id <= (SELECT MAX(id) FROM (SELECT id "
      "FROM imported_line WHERE file_id = :p1 ORDER BY id LIMIT :p2) AS first_lines)";
  const Cell cells[] = {IntegerCell(file_id), IntegerCell(file_id), IntegerCell(most)};
  return transaction.Run(kSql, cells);
}

Status RemoveImport(WriteTransaction& transaction, int64_t file_id) {
  const Cell cell = IntegerCell(file_id);
  const std::string sql = fmt::format("DELETE FROM {} WHERE id = :p0", ImportedFileTable().name);
  return transaction.Run(sql, {&cell, 1}).status();
}

Result<std::optional<ImportedFile>> ReadImport(Connection& connection, int64_t id) {
  const Cell cell = IntegerCell(id);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {ImportedFileTable(), "id = :p0", {&cell, 1}}));
  if (!row.has_value()) return std::optional<ImportedFile>();
  ATTUNE_ASSIGN_OR_RETURN(ImportedFile file, ParseFile(*row));
  return std::optional<ImportedFile>(std::move(file));
}

Result<std::vector<ImportedFile>> ReadImports(Connection& connection) {
  std::vector<ImportedFile> files;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection,
                                  {ImportedFileTable(), "id IS NOT NULL ORDER BY revision", {}},
                                  [&](std::span<const Cell> row) -> Status {
                                    ATTUNE_ASSIGN_OR_RETURN(files.emplace_back(), ParseFile(row));
                                    return Status::Ok();
                                  }));
  return files;
}

Status ReadImportedLines(Connection& connection, const ImportedFile& file,
                         const std::function<Status(const ImportedLine&)>& visit) {
  const Cell cell = IntegerCell(file.id);
  int64_t count = 0;
  ATTUNE_RETURN_IF_ERROR(
      ReadRows(connection, {ImportedLineTable(), "file_id = :p0 ORDER BY id", {&cell, 1}},
               [&](std::span<const Cell> row) -> Status {
                 ++count;
                 ATTUNE_ASSIGN_OR_RETURN(const ImportedLine line, ParseLine(row));
                 return visit(line);
               }));
  if (count == file.line_count) return Status::Ok();
  return DataLoss(fmt::format("Table {} of database '{}' has {} lines of file {}, which had {}.",
                              ImportedLineTable().name, connection.name(), count, file.id,
                              file.line_count));
}

Status FindImportedLines(Connection& connection, const Fingerprint& key,
                         const std::function<Status(int64_t, const ImportedLine&)>& visit) {
  const Cell cell = TextCell(key.ToHex());
  return ReadRows(connection, {ImportedLineTable(), "key = :p0 ORDER BY id", {&cell, 1}},
                  [&](std::span<const Cell> row) -> Status {
                    ATTUNE_ASSIGN_OR_RETURN(const ImportedLine line, ParseLine(row));
                    return visit(row[kFileId].integer, line);
                  });
}

}  // namespace attune::sql
