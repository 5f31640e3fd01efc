// Where this build talks to no servers.
#include "tests/servers/database_test.h"

namespace attune {

std::vector<DatabaseKind> DatabaseKinds() { return {DatabaseKind::kSqlite}; }

std::string NameOfKind(const ::testing::TestParamInfo<DatabaseKind>&) { return "SQLite"; }

SqlStoreOptions OptionsForServers() { return {}; }

Result<std::string> NewDatabase(DatabaseKind, const std::filesystem::path& folder) {
  return (folder / "attune.db").string();
}

void DatabaseTest::SetUp() {
  url_ = NewDatabase(GetParam(), folder_.path()).value();
  Begin();
}

std::shared_ptr<SqlDatabase> DatabaseTest::Open() const { return *OpenSqlDatabase(url_); }

std::unique_ptr<sql::Connection> DatabaseTest::Connect() const {
  return std::move(*sql::Connection::Open(url_, {}));
}

}  // namespace attune
