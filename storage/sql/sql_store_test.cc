// Failures of the SQLite store: each reason has its code and a helpful sentence.
#include "storage/sql/sql_store.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/random.h"
#include "storage/sql/connection.h"
#include "storage/sql/table.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kNoPatience{1};

class SqlStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordStore> Open(const SqlStoreOptions& options = {}) {
    auto store = OpenSqlStore(path_, options);
    EXPECT_EQ(store.status(), Status::Ok());
    return store.ok() ? std::move(*store) : nullptr;
  }

  // A database with one finished set.
  MeasurementSet Fill() {
    const auto store = Open();
    const MeasurementSet set = SampleSet(0, 1, random_);
    EXPECT_EQ(store->AddProblems("t", SampleProblems(20)), Status::Ok());
    EXPECT_EQ(store->BeginSet(set), Status::Ok());
    EXPECT_EQ(store->Append(set.id, SampleTrials(100, random_)), Status::Ok());
    EXPECT_EQ(store->FinishSet(set.id), Status::Ok());
    return set;
  }

  void Run(const std::string& sql) {
    const auto connection = std::move(*sql::Connection::Open(path_, {}));
    ASSERT_EQ(connection->Execute(sql), Status::Ok());
  }

  Status OpenStatus() { return OpenSqlStore(path_, {kNoPatience}).status(); }
  // Opens the store and reads everything.
  Status ReadStatus() {
    auto store = OpenSqlStore(path_);
    if (!store.ok()) return store.status();
    return Collected(**store).status();
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "attune.db";
  Random random_{1};
};

TEST_F(SqlStoreTest, ContentSurvivesReopening) {
  Fill();

  const auto sets = Collected(*Open()).value();

  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].records.size(), 100u);
  EXPECT_EQ(CheckSqlStore(path_), Status::Ok());
}

TEST_F(SqlStoreTest, FoldersOfTheDefaultAreMadeForTheOwnerAlone) {
  ::setenv("XDG_DATA_HOME", (folder_.path() / "a").c_str(), 1);
  path_ = DefaultDatabasePath().value();

  Open();
  ::unsetenv("XDG_DATA_HOME");

  struct stat info {};
  ASSERT_EQ(::stat((folder_.path() / "a" / "attune").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(SqlStoreTest, AFolderThatIsNotThereIsAMistypedPath) {
  path_ = folder_.path() / "a" / "b" / "attune.db";

  const Status status = OpenStatus();

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("there is no folder '" + (folder_.path() / "a").string() + "'"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a"));
}

TEST_F(SqlStoreTest, UrlsNameTheSameDatabaseAsPaths) {
  Fill();

  EXPECT_EQ((*OpenSqlStore("sqlite:" + path_))->Tags().value().size(), 1u);
  EXPECT_EQ((*OpenSqlStore("sqlite://" + path_))->Tags().value().size(), 1u);
}

TEST_F(SqlStoreTest, UnknownSchemesAndBadPathsAreRefused) {
  const Status postgresql = OpenSqlStore("postgresql://host/attune").status();
  EXPECT_EQ(postgresql.code(), StatusCode::kUnsupported);
  EXPECT_THAT(postgresql.message(), HasSubstr("'postgresql'"));

  EXPECT_EQ(OpenSqlStore("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenSqlStore("sqlite:").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenSqlStore(folder_.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SqlStoreTest, OddCharactersInThePathAreFine) {
  path_ = folder_.path() / "it's a = b; c?d#e%20.db";

  Fill();

  EXPECT_EQ(Collected(*Open()).value().size(), 1u);
}

TEST_F(SqlStoreTest, APathBelowAFileIsUnavailable) {
  ASSERT_EQ(WriteFileAtomically(folder_.path() / "file", "x"), Status::Ok());
  path_ = folder_.path() / "file" / "attune.db";

  const Status status = OpenStatus();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("Not a directory"));
}

TEST_F(SqlStoreTest, AFolderWithoutPermissionIsUnavailable) {
  if (::geteuid() == 0) GTEST_SKIP() << "Nothing is forbidden to root.";
  const auto locked = folder_.path() / "locked";
  ASSERT_EQ(::mkdir(locked.c_str(), 0500), 0);
  path_ = locked / "attune.db";

  EXPECT_EQ(OpenStatus().code(), StatusCode::kUnavailable);
}

TEST_F(SqlStoreTest, AnotherWriterMakesItUnavailableAfterTheTimeout) {
  const MeasurementSet set = Fill();
  const auto store = Open({kNoPatience});
  const auto other = std::move(*sql::Connection::Open(path_, {}));
  ASSERT_EQ(other->BeginWrite(), Status::Ok());

  const Status status = store->FinishSet(set.id);

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("locked"), HasSubstr("1 ms"), HasSubstr("fuser")));
  EXPECT_EQ(Collected(*store).value().size(), 1u);
  other->Rollback();
  EXPECT_EQ(store->FinishSet(set.id), Status::Ok());
}

// Appends until it fails, and checks that all acknowledged records are there.
void ExpectNothingAcknowledgedIsLost(const std::string& path, const SqlStoreOptions& options) {
  Random random(7);
  const MeasurementSet set = SampleSet(0, 1, random);
  std::vector<Trial> acknowledged;
  Status status;
  {
    const auto store = std::move(*OpenSqlStore(path, options));
    ASSERT_EQ(store->BeginSet(set), Status::Ok());
    constexpr int kMoreThanFits = 10'000;
    for (int i = 0; i < kMoreThanFits && status.ok(); ++i) {
      const std::vector<Trial> batch = SampleTrials(50, random);
      status = store->Append(set.id, batch);
      if (status.ok()) acknowledged.insert(acknowledged.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("No space"));
    EXPECT_EQ(TrialsOf(Collected(*store).value().at(0)), acknowledged);
  }
  EXPECT_GT(acknowledged.size(), 100u);
  EXPECT_EQ(CheckSqlStore(path), Status::Ok());
  EXPECT_EQ(TrialsOf(Collected(**OpenSqlStore(path)).value().at(0)), acknowledged);
}

TEST_F(SqlStoreTest, AtItsLargestSizeNothingAcknowledgedIsLost) {
  ExpectNothingAcknowledgedIsLost(path_, {std::chrono::seconds(5), 1 << 20});
}

TEST_F(SqlStoreTest, OnAFullDiskNothingAcknowledgedIsLost) {
  if (::mount("attune-test", folder_.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "Mounting a small file system takes root.";
  }
  ExpectNothingAcknowledgedIsLost(path_, {});
  ::umount2(folder_.path().c_str(), MNT_DETACH);
}

TEST_F(SqlStoreTest, AtTheFileSizeLimitOfTheProcessNothingAcknowledgedIsLost) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ExpectNothingAcknowledgedIsLost(path_, {});
    ::_exit(HasFailure() ? 1 : 0);
  }
  int exit_status = -1;
  ::waitpid(child, &exit_status, 0);

  EXPECT_EQ(exit_status, 0);
}

TEST_F(SqlStoreTest, RandomBytesAreNoDatabase) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += static_cast<char>(random_.Below(256));
  ASSERT_EQ(WriteFileAtomically(path_, bytes), Status::Ok());

  const Status status = OpenStatus();

  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(path_));
  EXPECT_EQ(ReadFile(path_).value(), bytes);
}

TEST_F(SqlStoreTest, AnEmptyFileIsNoDatabase) {
  ASSERT_EQ(WriteFileAtomically(path_, ""), Status::Ok());

  const Status status = OpenStatus();

  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("0 bytes"));
}

TEST_F(SqlStoreTest, ADatabaseCutAnywhereIsDamaged) {
  Fill();
  const std::string whole = ReadFile(path_).value();
  for (size_t size = 0; size < whole.size(); size += 1000) {
    ASSERT_EQ(WriteFileAtomically(path_, whole.substr(0, size)), Status::Ok());
    EXPECT_EQ(ReadStatus().code(), StatusCode::kDataLoss) << size << " of " << whole.size();
  }
}

struct Damage {
  std::string sql;
  std::string place;
};

class DamagedFieldTest : public SqlStoreTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(DamagedFieldTest, IsReportedWithTableRowAndColumn) {
  Fill();
  {
    const auto connection = std::move(*sql::Connection::Open(path_, {}));
    ASSERT_EQ(connection->Execute("PRAGMA foreign_keys = OFF"), Status::Ok());
    ASSERT_EQ(connection->Execute(GetParam().sql), Status::Ok());
  }

  const Status status = ReadStatus();

  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr(GetParam().place));
  EXPECT_EQ(CheckSqlStore(path_).code(), StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(
    SqlStore, DamagedFieldTest,
    ::testing::Values(
        Damage{"UPDATE candidate SET content = 'nonsense'", "of table candidate: column content"},
        Damage{"UPDATE problem SET content = content || ' '", "of table problem: column content"},
        Damage{"UPDATE target SET content = ''", "of table target: column content"},
        Damage{"UPDATE environment SET content = 'x'", "of table environment: column content"},
        Damage{"UPDATE trial SET median_ns = NULL WHERE median_ns > 0",
               "of table trial: column median_ns"},
        Damage{"UPDATE trial SET median_ns = 9e999 WHERE median_ns > 0",
               "of table trial: column median_ns holds inf"},
        Damage{"UPDATE trial SET median_ns = median_ns + 1 WHERE median_ns > 0",
               "of table trial: column median_ns"},
        Damage{"UPDATE trial SET role = 'finale' WHERE role = 'final'",
               "of table trial: column role holds 'finale'"},
        Damage{"UPDATE trial SET samples = replace(samples, 'f64r:', 'f32r:')",
               "of table trial: column samples"},
        Damage{"UPDATE trial SET samples = (SELECT samples FROM trial WHERE median_ns > 0 ORDER BY "
               "id DESC LIMIT 1) WHERE median_ns > 0",
               "of table trial: column samples"},
        Damage{"UPDATE bound_samples SET after_revision = 1000000",
               "of table bound_samples: column after_revision"},
        Damage{"DELETE FROM bound_samples", "Table bound_samples"},
        Damage{"UPDATE set_conditions SET after_power_w = 1",
               "of table set_conditions: column after_power_w"},
        Damage{"UPDATE kept_conditions SET after_revision = 1000000",
               "of table kept_conditions: column after_revision"},
        Damage{"DELETE FROM kept_conditions", "Table kept_conditions"},
        Damage{"UPDATE trial SET samples = NULL", "of table trial: column samples"},
        Damage{"UPDATE trial SET candidate_id = candidate_id + 1", "column candidate_id"},
        Damage{"UPDATE trial SET failure_message = 'x' WHERE failure_kind IS NOT NULL",
               "column failure_message"},
        Damage{"DELETE FROM trial WHERE role = 'final'", "of table set_progress"},
        Damage{"DELETE FROM candidate", "Table candidate has no row"},
        Damage{"DELETE FROM set_progress", "Table set_progress"},
        Damage{"DELETE FROM measurement_set", "column set_count"},
        Damage{"UPDATE measurement_set SET problem_id = 123456", "column set_count"},
        Damage{"UPDATE set_progress SET finished = 0", "column finished"},
        Damage{"UPDATE measurement_set SET seed = '-1'", "column seed"}));

TEST_F(SqlStoreTest, ATextWithTheFingerprintOfAnotherIsAnError) {
  Fill();
  const std::string key = FingerprintOf(Text(SampleProblem(50))).ToHex();
  const sql::Row forged = sql::RowWriter(sql::ProblemTable())
                              .Integer(100'000)
                              .Text(key)
                              .Text(Text(SampleProblem(51)))
                              .Integer(0)
                              .Checksum()
                              .Take();
  Run("INSERT INTO problem (id, key, content, set_count, checksum) VALUES (100000, '" + key +
      "', '" + forged[2].text + "', 0, '" + forged.back().text + "')");
  const auto store = Open();

  const Status status = store->AddProblems("t", std::vector<TaggedProblem>{{SampleProblem(50), 1}});

  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("fingerprint"), HasSubstr("100000")));
}

TEST_F(SqlStoreTest, AnIndexThatLacksARowIsFoundWhenASmallDatabaseIsOpened) {
  Fill();
  // The index is hidden while a row changes, so that it becomes stale.
  {
    const auto connection = std::move(*sql::Connection::Open(path_, {}));
    ASSERT_EQ(connection->Execute("CREATE TABLE hidden AS SELECT * FROM sqlite_master WHERE name = "
                                  "'measurement_set_by_problem'"),
              Status::Ok());
    ASSERT_EQ(connection->Execute("PRAGMA writable_schema = ON"), Status::Ok());
    ASSERT_EQ(
        connection->Execute("DELETE FROM sqlite_master WHERE name = 'measurement_set_by_problem'"),
        Status::Ok());
  }
  Run("UPDATE measurement_set SET started_unix_ns = started_unix_ns + 1");
  {
    const auto connection = std::move(*sql::Connection::Open(path_, {}));
    ASSERT_EQ(connection->Execute("PRAGMA writable_schema = ON"), Status::Ok());
    ASSERT_EQ(connection->Execute("INSERT INTO sqlite_master SELECT * FROM hidden"), Status::Ok());
  }

  const Status status = OpenStatus();

  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("missing from index measurement_set_by_problem"));
}

TEST(DefaultDatabasePath, FollowsTheBaseDirectorySpecification) {
  const std::string old_home = std::getenv("HOME") ? std::getenv("HOME") : "/";
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(DefaultDatabasePath().value(), "/data/attune/attune.db");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(DefaultDatabasePath().value(), "/home/me/.local/share/attune/attune.db");
  ::unsetenv("XDG_DATA_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(DefaultDatabasePath().status().code(), StatusCode::kFailedPrecondition);
  ::setenv("HOME", old_home.c_str(), 1);
}

}  // namespace
}  // namespace attune
