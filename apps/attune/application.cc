#include "apps/attune/application.h"

#include <cstdlib>

#include <fmt/format.h>

#include "storage/sql/sql_store.h"

namespace attune {
namespace {

std::string Joined(const std::vector<std::pair<std::string, int64_t>>& tags) {
  std::string text;
  for (const auto& [tag, count] : tags) text += fmt::format("{}{}", text.empty() ? "" : ", ", tag);
  return text;
}

}  // namespace

Result<std::filesystem::path> DatabasePath(const std::string& chosen) {
  if (!chosen.empty()) return std::filesystem::path(chosen);
  const char* data_home = std::getenv("XDG_DATA_HOME");
  // The XDG specification wants relative paths ignored.
  if (data_home != nullptr && data_home[0] == '/') {
    return std::filesystem::path(data_home) / "attune" / "attune.db";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0') {
    return FailedPrecondition(
        "Neither XDG_DATA_HOME nor HOME is set, so there is no place for the database. "
        "Name one with --db FILE.");
  }
  return std::filesystem::path(home) / ".local" / "share" / "attune" / "attune.db";
}

const LoadedBackends& Application::backends() {
  if (!backends_) backends_ = std::make_unique<LoadedBackends>(LoadBackends());
  return *backends_;
}

Result<RecordStore*> Application::store() {
  if (store_) return store_.get();
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path path, DatabasePath(database_));
  if (database_.empty()) {
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      return Unavailable(fmt::format("The folder '{}' for the database cannot be made: {}.",
                                     path.parent_path().string(), error.message()));
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(store_, OpenSqlStore(path));
  return store_.get();
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
