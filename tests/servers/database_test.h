// Tests of databases, over each kind of database.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {

enum class DatabaseKind { kSqlite, kPostgres, kMaria };

// For INSTANTIATE_TEST_SUITE_P: all three, or the file alone where this build talks to no servers.
std::vector<DatabaseKind> DatabaseKinds();
std::string NameOfKind(const ::testing::TestParamInfo<DatabaseKind>& info);

// The database options of a program that talks to servers.
SqlStoreOptions OptionsForServers();

// A new, empty database of `kind`; a file in `folder`. kNotFound if its server is not installed.
Result<std::string> NewDatabase(DatabaseKind kind, const std::filesystem::path& folder);

// Each test has a database of its own. If a server is not installed, the test is skipped with a
// message.
class DatabaseTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  void SetUp() final;
  // Instead of SetUp, once there is a database.
  virtual void Begin() {}

  bool is_file() const { return GetParam() == DatabaseKind::kSqlite; }
  const std::string& url() const { return url_; }
  // The database over connections of its own.
  std::shared_ptr<SqlDatabase> Open() const;
  // One connection, for operations that no store has.
  std::unique_ptr<sql::Connection> Connect() const;

  TemporaryFolder folder_;

 private:
  std::string url_;
};

}  // namespace attune
