// Read-only databases: without the right to write them, beside active writers, and with other
// schemas.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "storage/sql/connection.h"
#include "storage/sql/migrations.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/transaction.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::milliseconds kNoPatience{1};
const SqlStoreOptions kReading = {kNoPatience, 0, StoreUse::kRead};

// Takes from this process the right to write in `folder`; from root by becoming user `nobody`.
class WithoutRights {
 public:
  explicit WithoutRights(const std::filesystem::path& folder) : folder_(folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      ::chmod(entry.path().c_str(), 0444);
    }
    ::chmod(folder.c_str(), 0555);
    constexpr uid_t kNobody = 65534;
    if (was_root_) {
      EXPECT_EQ(::seteuid(kNobody), 0);
    }
  }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;
  ~WithoutRights() {
    if (was_root_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
    ::chmod(folder_.c_str(), 0700);
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      ::chmod(entry.path().c_str(), 0600);
    }
  }

 private:
  const std::filesystem::path folder_;
  const bool was_root_ = ::geteuid() == 0;
};

class ReadAccessTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordStore> Open(const SqlStoreOptions& options) {
    auto store = OpenSqlStore(path_, options);
    EXPECT_EQ(store.status(), Status::Ok());
    return store.ok() ? std::move(*store) : nullptr;
  }

  // One more finished set.
  void Add(RecordStore& store) {
    const MeasurementSet set = SampleSet(next_set_++, 1, random_);
    EXPECT_EQ(store.BeginSet(set), Status::Ok());
    EXPECT_EQ(store.Append(set.id, SampleTrials(10, random_)), Status::Ok());
    EXPECT_EQ(store.FinishSet(set.id), Status::Ok());
  }

  void Fill() { Add(*Open({})); }

  // A database of the first `count` migrations, with one set if they have a table for it.
  void MakeOldDatabase(size_t count) {
    const std::span<const sql::Migration> migrations(sql::Migrations().data(), count);
    const auto connection = std::move(*sql::Connection::Open(path_, {}));
    ASSERT_EQ(sql::Migrate(*connection, migrations), Status::Ok());
    if (count < 2) return;
    auto transaction = std::move(*sql::WriteTransaction::Begin(*connection));
    ASSERT_EQ(sql::InsertSet(transaction, SampleSet(1, 1, random_)).status(), Status::Ok());
    ASSERT_EQ(transaction.Commit(), Status::Ok());
  }

  std::string Versions() {
    const auto connection = std::move(*sql::Connection::Open(path_, {}));
    return connection->Texts("SELECT COUNT(*) FROM migration").value().front();
  }

  size_t FilesHere() {
    const auto all = std::filesystem::directory_iterator(folder_.path());
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "attune.db";
  Random random_{1};
  int next_set_ = 0;
};

TEST_F(ReadAccessTest, WithoutTheRightToWriteEverythingIsRead) {
  Fill();
  const WithoutRights rights(folder_.path());

  const auto store = Open(kReading);

  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Collected(*store).value().size(), 1u);
  EXPECT_EQ(OpenSqlStore(path_, {kNoPatience}).status().code(), StatusCode::kUnavailable);
}

TEST_F(ReadAccessTest, WithoutTheRightToWriteALogThatIsInUseIsReadToo) {
  const auto writer = Open({});
  Add(*writer);
  const WithoutRights rights(folder_.path());

  const auto store = Open(kReading);

  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Collected(*store).value().size(), 1u);
}

TEST_F(ReadAccessTest, ALogThatCannotBeBroughtInIsNamedWithWhatToDo) {
  const auto writer = Open({});
  Add(*writer);
  std::filesystem::copy(path_, folder_.path() / "copy.db");
  std::filesystem::copy(path_ + "-wal", folder_.path() / "copy.db-wal");
  path_ = folder_.path() / "copy.db";
  const WithoutRights rights(folder_.path());

  const Status status = OpenSqlStore(path_, kReading).status();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("copy.db-wal"), HasSubstr("as the owner")));
}

TEST_F(ReadAccessTest, AChangeWhileNothingCouldBeLockedIsReported) {
  Fill();
  std::unique_ptr<RecordStore> reader;
  {
    const WithoutRights rights(folder_.path());
    reader = Open(kReading);
  }
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(Collected(*reader).value().size(), 1u);

  Fill();

  const Status status = Collected(*reader).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("changed by another process"));
}

TEST_F(ReadAccessTest, OnAFullDiskEverythingIsRead) {
  if (::mount("attune-test", folder_.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "Mounting a small file system takes root.";
  }
  Fill();
  {
    std::ofstream filler(folder_.path() / "filler", std::ios::binary);
    while (filler.write(std::string(4096, 'x').data(), 4096).flush()) continue;
  }

  const auto store = Open(kReading);
  const auto sets = store == nullptr ? std::vector<RecordedSet>() : Collected(*store).value();
  ::umount2(folder_.path().c_str(), MNT_DETACH);

  EXPECT_EQ(sets.size(), 1u);
}

TEST_F(ReadAccessTest, AReaderSeesWhatAWriterCommitsAndIsNotBlockedByIt) {
  const auto writer = Open({});
  Add(*writer);
  const auto reader = Open(kReading);
  const auto other = std::move(*sql::Connection::Open(path_, {}));
  ASSERT_EQ(Collected(*reader).value().size(), 1u);

  Add(*writer);
  ASSERT_EQ(other->BeginWrite(), Status::Ok());

  EXPECT_EQ(Collected(*reader).value().size(), 2u);
}

TEST_F(ReadAccessTest, AReaderLeavesNothingBehindAndWritesNothing) {
  Fill();

  const Status status = Open(kReading)->AddProblems("t", SampleProblems(1));

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("read only"));
  // The database, and the queue of its writers.
  EXPECT_EQ(FilesHere(), 2u);
}

TEST_F(ReadAccessTest, WhatDoesNotExistIsNotMade) {
  path_ = folder_.path() / "a" / "b.db";

  const Status status = OpenSqlStore(path_, kReading).status();

  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(path_));
  EXPECT_EQ(FilesHere(), 0u);
}

TEST_F(ReadAccessTest, TheLastSchemaIsReadAsItIs) {
  MakeOldDatabase(2);

  const auto store = Open(kReading);

  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Collected(*store).value().size(), 1u);
  EXPECT_EQ(Versions(), "2");
}

TEST_F(ReadAccessTest, AnOlderSchemaIsRefusedWithWhatToDo) {
  MakeOldDatabase(1);

  const Status status = OpenSqlStore(path_, kReading).status();

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("version 1"), HasSubstr("attune import")));
  EXPECT_EQ(Versions(), "1");
}

TEST_F(ReadAccessTest, AFolderWhereNothingCanBeMadeIsReportedByTheNameOfTheDatabase) {
  const WithoutRights rights(folder_.path());

  const Status status = OpenSqlStore(path_, {kNoPatience}).status();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("'" + path_ + "'"), Not(HasSubstr(".new."))));
}

}  // namespace
}  // namespace attune
