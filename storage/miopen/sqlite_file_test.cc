#include "storage/miopen/sqlite_file.h"

#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "attune/base/file.h"
#include "storage/miopen/perf_tables.h"
#include "tests/miopen/sample_databases.h"

namespace attune::miopen {
namespace {

class SqliteFileTest : public DatabaseTest {
 protected:
  std::filesystem::path Written(const std::string& bytes) const {
    std::ofstream(folder_ / "a.db", std::ios::binary) << bytes;
    return folder_ / "a.db";
  }
};

TEST_F(SqliteFileTest, WhatIsNoDatabaseIsRefused) {
  EXPECT_EQ(SqliteFile::OpenToRead(folder_ / "absent.db").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent.db"));
  EXPECT_EQ(SqliteFile::OpenToRead(Written("no database at all, but long enough to be one"))
                .status()
                .code(),
            StatusCode::kDataLoss);
  EXPECT_FALSE(SqliteFile::OpenToRead(folder_).ok());
}

TEST_F(SqliteFileTest, AnEmptyFileHasNoTables) {
  Findings findings;

  const auto tables = ReadPerfTables(Written(""), findings);

  EXPECT_EQ(tables.status().code(), StatusCode::kDataLoss);
}

TEST_F(SqliteFileTest, ADatabaseThatWasCutIsNeverReadInPart) {
  const std::string whole = ReadFile(Sample("gfx906_60.db")).value();
  for (size_t bytes = 0; bytes < whole.size(); bytes += 1000) {
    Findings findings;
    EXPECT_FALSE(ReadPerfTables(Written(whole.substr(0, bytes)), findings).ok()) << bytes;
  }
}

TEST_F(SqliteFileTest, ADatabaseThatAMIOpenWritesToIsReadWithItsLog) {
  const auto path = CopyOf("gfx906_60.db");
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(writer, "PRAGMA journal_mode=WAL; UPDATE perf_db SET params = 'new'",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);

  Findings findings;
  const auto tables = ReadPerfTables(path, findings);

  ASSERT_TRUE(tables.ok()) << tables.status().message();
  EXPECT_EQ(tables->targets.at(0).db.records.at(0).items.at(0).params, "new");
  sqlite3_close(writer);
}

TEST_F(SqliteFileTest, NothingIsMadeBesideADatabaseWithoutItsLog) {
  const auto path = CopyOf("gfx906_60.db");
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(writer, "PRAGMA journal_mode=WAL; UPDATE perf_db SET params = 'new'",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(writer);  // Closing moves everything into the file, and removes the log.
  std::set<std::string> before;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    before.insert(entry.path().filename());
  }
  ASSERT_FALSE(before.contains("gfx906_60.db-wal"));

  Findings findings;
  const auto tables = ReadPerfTables(path, findings);

  ASSERT_TRUE(tables.ok()) << tables.status().message();
  EXPECT_EQ(tables->targets.at(0).db.records.at(0).items.at(0).params, "new");
  std::set<std::string> after;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
    after.insert(entry.path().filename());
  }
  EXPECT_EQ(after, before);
}

TEST_F(SqliteFileTest, VirtualTablesAreNoTables) {
  const auto path = folder_ / "a.db";
  if (!sqlite3_compileoption_used("ENABLE_RTREE")) GTEST_SKIP() << "SQLite has no R-trees.";
  Run(path, "CREATE VIRTUAL TABLE config USING rtree(id, x, y)");
  SqliteFile file = SqliteFile::OpenToRead(path).value();
  constexpr std::string_view kColumns[] = {"id"};

  EXPECT_EQ(file.CheckTable("config", kColumns).code(), StatusCode::kDataLoss);
}

TEST_F(SqliteFileTest, NothingIsWrittenThroughAFileOpenedToRead) {
  SqliteFile file = SqliteFile::OpenToRead(Sample("gfx906_60.db")).value();

  EXPECT_FALSE(file.Execute("DELETE FROM perf_db").ok());
}

TEST_F(SqliteFileTest, ACreatedFileAppearsWithItsCommit) {
  const auto path = folder_ / "new.db";
  {
    SqliteFile file = SqliteFile::Create(path).value();
    ASSERT_TRUE(file.Execute("CREATE TABLE a (b)").ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(file.Commit().ok());
  }
  EXPECT_THAT(Run(path, "SELECT name FROM sqlite_master"), testing::ElementsAre("a"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(SqliteFileTest, AFolderThatIsNotThereIsSaid) {
  EXPECT_EQ(SqliteFile::Create(folder_ / "absent" / "new.db").status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace attune::miopen
