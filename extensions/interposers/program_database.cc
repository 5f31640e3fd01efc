#include "extensions/interposers/program_database.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "attune/base/path_variable.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

bool IsSetTo(const char* variable, std::string_view wanted) {
  const char* value = std::getenv(variable);
  return value != nullptr && value == wanted;
}

Status CheckOpens(const std::filesystem::path& file, bool is_written) {
  std::error_code ignored;
  // This check explains failures better than the database library does.
  if (is_written || std::filesystem::exists(file, ignored)) {
    ATTUNE_RETURN_IF_ERROR(CheckMayBeDatabase(file));
  }
  SqlStoreOptions options;
  options.use = StoreUse::kRead;
  const Status opened = OpenSqlDatabase(file.string(), options).status();
  return opened.code() == StatusCode::kNotFound ? Status::Ok() : opened;
}

}  // namespace

ProgramDatabase DatabaseOfProgram(const Application& application, bool records) {
  ProgramDatabase database;
  if (application.named_database().empty() && IsSetTo("ATTUNE_DB", "")) {
    // Without recording, an empty ATTUNE_DB is a valid choice.
    if (records) database.usable = FailedPrecondition("ATTUNE_DB is empty.");
    return database;
  }
  const auto path = application.DatabasePath();
  if (!path.ok()) {
    database.usable = path.error();
    return database;
  }
  if (IsOnServer(*path)) {
    database.usable = Unsupported(
        "It is on a server, but programs need a database file. Export a package with 'attune "
        "golden export', and name it in ATTUNE_PACKAGES.");
    return database;
  }
  const auto file = SqlStorePath(*path);
  if (!file.ok()) {
    database.usable = file.error();
    return database;
  }
  database.file = *file;
  const auto usual = DefaultDatabasePath();
  database.is_default = usual.ok() && *usual == file->string();
  database.usable = CheckOpens(*file, records || !IsSetTo("ATTUNE_POLICY", "never"));
  return database;
}

void NameDatabase(const Application& application) {
  const auto path = application.DatabasePath();
  const auto usual = DefaultDatabasePath();
  if (!path.ok() || (usual.ok() && *path == *usual)) return;
  const auto file = IsOnServer(*path) ? Result<std::filesystem::path>(*path) : SqlStorePath(*path);
  // SqlStorePath() fails if the current folder was deleted.
  const std::string place = file.ok() ? file->string() : FromStart(*path);
  ::setenv("ATTUNE_DB", place.c_str(), 1);
}

}  // namespace attune
