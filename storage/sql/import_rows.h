// Rows of `imported_file` and `imported_line`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/import_store.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Under a new id, which is returned.
Result<int64_t> InsertImport(WriteTransaction& transaction, const ImportedFile& file);
Status UpdateImport(WriteTransaction& transaction, const ImportedFile& file);
Status InsertImportedLine(WriteTransaction& transaction, int64_t file_id, const ImportedLine& line);

// Removes up to `most` lines of a file; how many.
Result<int64_t> RemoveImportedLines(WriteTransaction& transaction, int64_t file_id, int64_t most);
// REQUIRES: it has no lines left.
Status RemoveImport(WriteTransaction& transaction, int64_t file_id);

Result<std::optional<ImportedFile>> ReadImport(Connection& connection, int64_t id);
Result<std::vector<ImportedFile>> ReadImports(Connection& connection);
// In order of their ids. kDataLoss if their number differs from the file's count.
Status ReadImportedLines(Connection& connection, const ImportedFile& file,
                         const std::function<Status(const ImportedLine&)>& visit);
// Every line under `key`, with the id of its file.
Status FindImportedLines(Connection& connection, const Fingerprint& key,
                         const std::function<Status(int64_t, const ImportedLine&)>& visit);

}  // namespace attune::sql
