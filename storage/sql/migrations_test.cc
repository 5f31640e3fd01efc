// From one schema to the next, and the cases that fail.
#include "storage/sql/migrations.h"

#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sql/database_file.h"
#include "storage/sql/list_rows.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/transaction.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune::sql {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MigrationsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Connection> Open() { return std::move(*Connection::Open(path_, {})); }
  void Run(const std::string& sql) { ASSERT_EQ(Open()->Execute(sql), Status::Ok()); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "attune.db";
};

TEST_F(MigrationsTest, VersionsCountFromOne) {
  for (size_t i = 0; i < Migrations().size(); ++i) {
    EXPECT_EQ(Migrations()[i].version, static_cast<int>(i) + 1);
  }
}

TEST_F(MigrationsTest, AnOlderDatabaseIsBroughtUpToDateAndKeepsItsContent) {
  const std::span<const Migration> first(Migrations().data(), 1);
  {
    const auto connection = Open();
    ASSERT_EQ(Migrate(*connection, first), Status::Ok());
    WriteTransaction transaction = std::move(*WriteTransaction::Begin(*connection));
    InternedTexts ids(ProblemTable());
    ASSERT_EQ(AddToList(transaction, ids, TagLists(), "old", SampleProblems(3)), Status::Ok());
    ASSERT_EQ(transaction.Commit(), Status::Ok());
  }

  const auto store = std::move(*OpenSqlStore(path_));

  EXPECT_EQ(store->Problems("old").value(), SampleProblems(3));
  Random random(1);
  EXPECT_EQ(store->BeginSet(SampleSet(1, 1, random)), Status::Ok());
  EXPECT_THAT(
      Open()->Texts("SELECT name FROM migration ORDER BY version").value(),
      ElementsAre("values", "trials", "revisions", "bound_samples", "conditions", "imports",
                  "sessions", "golden", "figures", "fleet", "artifacts", "turns", "timeline"));
}

TEST_F(MigrationsTest, AnIndexThatAnotherReplacesGoesAndIsMissedByNobody) {
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());

  EXPECT_THAT(Open()
                  ->Texts("SELECT name FROM sqlite_master WHERE name LIKE 'job_by_%' ORDER BY name")
                  .value(),
              ElementsAre("job_by_turn"));
  EXPECT_EQ(OpenSqlStore(path_).status(), Status::Ok());

  Run("DROP INDEX job_by_turn");
  EXPECT_THAT(OpenSqlStore(path_).status().message(), HasSubstr("CREATE INDEX job_by_turn"));
}

TEST_F(MigrationsTest, ADatabaseOfTheLastSchemaKeepsItsSetsAndGetsAnId) {
  Random random(1);
  const MeasurementSet set = SampleSet(1, 1, random);
  {
    const std::span<const Migration> before(Migrations().data(), 2);
    const auto connection = Open();
    ASSERT_EQ(Migrate(*connection, before), Status::Ok());
    WriteTransaction transaction = std::move(*WriteTransaction::Begin(*connection));
    ASSERT_EQ(InsertSet(transaction, set).status(), Status::Ok());
    ASSERT_EQ(transaction.Commit(), Status::Ok());
  }

  const auto store = std::move(*OpenSqlStore(path_));
  const StoreState before = store->State().value();
  ASSERT_EQ(store->FinishSet(set.id), Status::Ok());

  EXPECT_EQ(before.database_id.size(), 32u);
  EXPECT_EQ((*OpenSqlStore(path_))->State().value().database_id, before.database_id);
  RecordQuery query;
  query.after_revision = before.last_revision;
  EXPECT_EQ(Collected(*store, query).value().size(), 1u);
}

TEST_F(MigrationsTest, SetsFromBeforeConditionsWereKeptHaveNoneAndMayGetSome) {
  Random random(1);
  const MeasurementSet old = SampleSet(1, 1, random);
  {
    const std::span<const Migration> before(Migrations().data(), 4);
    const auto connection = Open();
    ASSERT_EQ(Migrate(*connection, before), Status::Ok());
    WriteTransaction transaction = std::move(*WriteTransaction::Begin(*connection));
    ASSERT_EQ(InsertSet(transaction, old).status(), Status::Ok());
    ASSERT_EQ(transaction.Commit(), Status::Ok());
  }
  SqlStoreOptions reading;
  reading.use = StoreUse::kRead;
  EXPECT_TRUE(Collected(**OpenSqlStore(path_, reading)).value().at(0).conditions.empty());
  const MeasurementSet young = SampleSet(1, 2, random);
  const SetConditions conditions = SampleConditions(random);

  const auto store = std::move(*OpenSqlStore(path_));
  EXPECT_TRUE(Collected(*store).value().at(0).conditions.empty());
  ASSERT_EQ(store->BeginSet(young), Status::Ok());
  ASSERT_EQ(store->NoteConditions(old.id, conditions), Status::Ok());

  const auto sets = Collected(*store).value();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].conditions, conditions);
  EXPECT_TRUE(sets[1].conditions.empty());
  EXPECT_EQ(CheckSqlStore(path_), Status::Ok());
}

// The state that an attune of version 4 leaves if it continues while a newer one migrates the
// database.
TEST_F(MigrationsTest, ASetWhoseWriterKnewNoConditionsHasNone) {
  Random random(1);
  const MeasurementSet young = SampleSet(1, 1, random);
  const auto store = std::move(*OpenSqlStore(path_));
  ASSERT_EQ(store->BeginSet(SampleSet(1, 2, random)), Status::Ok());
  const auto connection = Open();
  WriteTransaction transaction = std::move(*WriteTransaction::Begin(*connection));
  ASSERT_EQ(InsertSet(transaction, young).status(), Status::Ok());
  ASSERT_EQ(transaction.Commit(), Status::Ok());

  const auto sets = Collected(*store);

  ASSERT_TRUE(sets.ok()) << sets.status().ToString();
  ASSERT_EQ(sets->size(), 2u);
  EXPECT_TRUE(sets->at(0).conditions.empty());
  EXPECT_EQ(CheckSqlStore(path_), Status::Ok());
  // A set whose row of conditions has another id is damaged.
  ASSERT_EQ(connection->Execute("PRAGMA foreign_keys = OFF"), Status::Ok());
  ASSERT_EQ(connection->Execute("UPDATE set_conditions SET id = id + 1000"), Status::Ok());
  EXPECT_EQ(Collected(**OpenSqlStore(path_)).status().code(), StatusCode::kDataLoss);
}

TEST_F(MigrationsTest, WhoOpenedTheDatabaseBeforeANewerOneMigratedItDoesNotWrite) {
  Random random(1);
  const auto store = std::move(*OpenSqlStore(path_));
  const MeasurementSet set = SampleSet(1, 1, random);
  ASSERT_EQ(store->BeginSet(set), Status::Ok());
  Run("INSERT INTO migration (version, name, applied_unix_ns) VALUES (14, 'later', 1)");

  const Status status = store->FinishSet(set.id);

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("schema version 14"), HasSubstr("up to 13"),
                                      HasSubstr("again with an attune that is as new")));
  EXPECT_THAT(Open()->Texts("SELECT finished FROM set_progress").value(), ElementsAre("0"));
}

TEST_F(MigrationsTest, ANewerDatabaseIsRefusedByNumberAndName) {
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());
  Run("INSERT INTO migration (version, name, applied_unix_ns) VALUES (14, 'later', 1)");

  const Status status = OpenSqlStore(path_).status();

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("version 14 (\"later\")"), HasSubstr("up to 13 (\"timeline\")")));
}

TEST_F(MigrationsTest, ACopyOfTheOldVersionStaysAndIsNotReplaced) {
  const std::span<const Migration> before(Migrations().data(), 12);
  ASSERT_EQ(Migrate(*Open(), before), Status::Ok());
  Random random(1);
  const MeasurementSet set = SampleSet(1, 1, random);
  {
    const auto writer = Open();
    WriteTransaction transaction = std::move(*WriteTransaction::Begin(*writer));
    ASSERT_EQ(InsertSet(transaction, set).status(), Status::Ok());
    ASSERT_EQ(transaction.Commit(), Status::Ok());
  }
  constexpr const char* kSets = "SELECT key FROM measurement_set";
  const std::vector<std::string> sets = Open()->Texts(kSets).value();
  ASSERT_EQ(sets.size(), 1u);
  std::filesystem::permissions(
      path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);

  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());

  const std::string copy = path_.string() + ".v12";
  const auto connection = std::move(*Connection::Open(copy, {}));
  EXPECT_THAT(connection->Texts("SELECT max(version) FROM migration").value(), ElementsAre("12"));
  EXPECT_EQ(connection->Texts(kSets).value(), sets);
  EXPECT_EQ(std::filesystem::status(copy).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto written = std::filesystem::last_write_time(copy);
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());
  EXPECT_EQ(std::filesystem::last_write_time(copy), written);
  EXPECT_THAT(Open()->Texts("SELECT max(version) FROM migration").value(), ElementsAre("13"));
}

TEST_F(MigrationsTest, WithoutRoomForACopyTheDatabaseStaysAsItIs) {
  const std::span<const Migration> before(Migrations().data(), 12);
  ASSERT_EQ(Migrate(*Open(), before), Status::Ok());
  // A folder in the place of the copy.
  std::filesystem::create_directories(fmt::format("{}.v12.part.{}/x", path_.string(), ::getpid()));

  const Status status = OpenSqlStore(path_).status();

  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("has schema version 12"), HasSubstr("could not be made")));
  EXPECT_THAT(Open()->Texts("SELECT max(version) FROM migration").value(), ElementsAre("12"));
}

TEST_F(MigrationsTest, AFailedMigrationLeavesTheDatabaseAsItWas) {
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());
  std::vector<Migration> migrations = Migrations();
  migrations.push_back(
      {6, "broken", {"CREATE TABLE third (id INTEGER)", "CREATE NONSENSE"}, nullptr});
  const auto connection = Open();

  EXPECT_FALSE(Migrate(*connection, migrations).ok());

  EXPECT_EQ(OpenSqlStore(path_).status(), Status::Ok());
  EXPECT_TRUE(
      connection->Texts("SELECT name FROM sqlite_master WHERE name = 'third'").value().empty());
}

TEST_F(MigrationsTest, AGapInTheVersionsIsDamage) {
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());
  Run("DELETE FROM migration WHERE version = 1");

  EXPECT_EQ(OpenSqlStore(path_).status().code(), StatusCode::kDataLoss);
}

TEST_F(MigrationsTest, AChangedTableIsDamage) {
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());
  Run("ALTER TABLE trial RENAME COLUMN role TO part");

  const Status status = OpenSqlStore(path_).status();

  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("CREATE TABLE trial"));
}

TEST_F(MigrationsTest, TablesAndIndexesOfTheUserAreLeftAlone) {
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());
  Run("CREATE INDEX mine ON trial (median_ns)");
  Run("CREATE VIEW winners AS SELECT * FROM trial");

  EXPECT_EQ(OpenSqlStore(path_).status(), Status::Ok());
}

TEST_F(MigrationsTest, ADatabaseOfAnotherProgramIsRefusedAndLeftAlone) {
  Run("CREATE TABLE recipes (name TEXT)");

  const Status status = OpenSqlStore(path_).status();

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("recipes"));
  EXPECT_THAT(Open()->Texts("SELECT name FROM sqlite_master").value(), ElementsAre("recipes"));
}

TEST_F(MigrationsTest, ManyMayCreateTheSameDatabaseAtOnce) {
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  std::vector<Status> statuses(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      auto store = OpenSqlStore(path_);
      statuses[i] = store.status();
      if (store.ok())
        statuses[i] = (*store)->AddProblems("t" + std::to_string(i), SampleProblems(2));
    });
  }

  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(statuses, ::testing::Each(Status::Ok()));
  EXPECT_EQ((*OpenSqlStore(path_))->Tags().value().size(), size_t{kThreads});
}

TEST_F(MigrationsTest, NothingIsLeftBesideANewDatabase) {
  ASSERT_EQ(OpenSqlStore(path_).status(), Status::Ok());

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, ElementsAre("attune.db"));
}

}  // namespace
}  // namespace attune::sql
