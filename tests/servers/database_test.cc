#include "tests/servers/database_test.h"

#include <cstdlib>

#include "storage/sql/servers/database_servers.h"
#include "tests/servers/test_server.h"

namespace attune {

std::vector<DatabaseKind> DatabaseKinds() {
  return {DatabaseKind::kSqlite, DatabaseKind::kPostgres, DatabaseKind::kMaria};
}

std::string NameOfKind(const ::testing::TestParamInfo<DatabaseKind>& info) {
  switch (info.param) {
    case DatabaseKind::kSqlite:
      return "SQLite";
    case DatabaseKind::kPostgres:
      return "PostgreSQL";
    case DatabaseKind::kMaria:
      return "MariaDB";
  }
  return "";
}

SqlStoreOptions OptionsForServers() {
  SqlStoreOptions options;
  options.server_at = DatabaseServerAt;
  return options;
}

Result<std::string> NewDatabase(DatabaseKind kind, const std::filesystem::path& folder) {
  if (kind == DatabaseKind::kSqlite) return (folder / "attune.db").string();
  ::setenv("ATTUNE_DB_PASSWORD", TestServer::kPassword, 1);
  ATTUNE_ASSIGN_OR_RETURN(
      TestServer * server,
      SharedServer(kind == DatabaseKind::kPostgres ? ServerKind::kPostgres : ServerKind::kMaria));
  return server->NewDatabase();
}

void DatabaseTest::SetUp() {
  auto url = NewDatabase(GetParam(), folder_.path());
  if (!url.ok() && url.error().code() == StatusCode::kNotFound) {
    GTEST_SKIP() << url.error().message();
  }
  ASSERT_TRUE(url.ok()) << url.error().message();
  url_ = std::move(*url);
  Begin();
}

std::shared_ptr<SqlDatabase> DatabaseTest::Open() const {
  auto database = OpenSqlDatabase(url_, OptionsForServers());
  EXPECT_TRUE(database.ok()) << database.status().message();
  return database.ok() ? std::move(*database) : nullptr;
}

std::unique_ptr<sql::Connection> DatabaseTest::Connect() const {
  if (is_file()) return std::move(*sql::Connection::Open(url_, {}));
  const auto server = DatabaseServerAt(url_, {});
  EXPECT_TRUE(server.ok()) << server.status().message();
  auto connection = sql::Connection::Open((*server)->NewEngine());
  EXPECT_TRUE(connection.ok()) << connection.status().message();
  return connection.ok() ? std::move(*connection) : nullptr;
}

}  // namespace attune
