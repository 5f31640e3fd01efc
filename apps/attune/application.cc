#include "apps/attune/application.h"

#include <sys/stat.h>

#include <filesystem>

#include <fmt/format.h>

#include "attune/record/memory_store.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

std::string Joined(const std::vector<std::pair<std::string, int64_t>>& tags) {
  std::string text;
  for (const auto& [tag, count] : tags) text += fmt::format("{}{}", text.empty() ? "" : ", ", tag);
  return text;
}

// Zeros for what is not there.
FileIdentity IdentityOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

}  // namespace

Result<std::string> Application::DatabasePath() const {
  if (!database_.empty()) return database_;
  auto path = DefaultDatabasePath();
  if (path.ok()) return path;
  return FailedPrecondition(path.error().message() + " Name a database with --db FILE.");
}

const LoadedBackends& Application::backends() {
  if (!backends_) backends_ = std::make_unique<LoadedBackends>(LoadBackends());
  return *backends_;
}

const BackendList& Application::lazy_backends() {
  if (lazy_backends_.empty()) lazy_backends_ = LazyBackends();
  return lazy_backends_;
}

Result<RecordStore*> Application::store() {
  if (store_) return store_.get();
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, DatabasePath());
  ATTUNE_ASSIGN_OR_RETURN(const auto database, OpenSqlDatabase(path));
  store_ = RecordsIn(database);
  imports_ = ImportsIn(database);
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path file, SqlStorePath(path));
  opened_ = IdentityOf(file);
  return store_.get();
}

Status Application::CheckDatabaseIsKept() const {
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, DatabasePath());
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path file, SqlStorePath(path));
  if (IdentityOf(file) == opened_) return Status::Ok();
  return DataLoss(
      fmt::format("The database '{}' was removed or replaced during the run, and what was measured "
                  "is lost with it. Restore the file, or run the same command again.",
                  file.string()));
}

Result<RecordStore*> Application::StoreToRead() {
  if (store_) return store_.get();
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, DatabasePath());
  SqlStoreOptions options;
  options.use = StoreUse::kRead;
  auto opened = OpenSqlDatabase(path, options);
  if (opened.ok()) {
    store_ = RecordsIn(*opened);
    imports_ = ImportsIn(*opened);
  } else if (opened.error().code() != StatusCode::kNotFound) {
    return opened.error();
  } else if (database_.empty()) {
    store_ = std::make_unique<MemoryStore>();
  } else {
    return NotFound(
        fmt::format("{} Check the name after --db or in ATTUNE_DB; 'attune import FILE --tag TAG "
                    "--db {}' makes it.",
                    opened.error().message(), database_));
  }
  return store_.get();
}

Result<ImportStore*> Application::imports() {
  ATTUNE_RETURN_IF_ERROR(store().status());
  return imports_.get();
}

Result<ImportStore*> Application::ImportsToRead() {
  ATTUNE_RETURN_IF_ERROR(StoreToRead().status());
  return imports_.get();
}

Result<std::vector<TaggedProblem>> Application::ProblemsOf(const std::string& tag) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * records, store());
  ATTUNE_ASSIGN_OR_RETURN(const auto tags, records->Tags());
  for (const auto& [name, count] : tags) {
    if (name == tag) return records->Problems(tag);
  }
  const std::string known =
      tags.empty() ? "The database has none yet; 'attune import FILE --tag TAG' makes one."
                   : fmt::format("Tags here: {}.", Joined(tags));
  return NotFound(fmt::format("There is no tag '{}'. {}", tag, known));
}

std::string_view ProgramVersion() { return "attune " ATTUNE_VERSION; }

}  // namespace attune
