// Files left by a process that was killed while it made a database.
#include "storage/sql/database_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/unique_fd.h"
#include "attune/record/record.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune::sql {
namespace {

class DatabaseFileTest : public ::testing::Test {
 protected:
  Status Open(const SqlStoreOptions& options = {}) {
    return OpenSqlDatabase(path_, options).status();
  }
  // The name of a database under construction.
  std::string MakingName() const { return path_ + ".new." + NewSetId(); }
  static void Write(const std::string& path) { std::ofstream(path) << "half of it"; }
  // The lock of a process that makes a database.
  UniqueFd Lock() const {
    UniqueFd folder(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(::flock(folder.get(), LOCK_EX | LOCK_NB), 0);
    return folder;
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
      names.insert(each.path().filename());
    }
    return names;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "attune.db";
};

TEST_F(DatabaseFileTest, TheNameUnderWhichAKilledProcessMadeItIsRemoved) {
  ASSERT_EQ(Open(), Status::Ok());
  const auto names = Names();
  std::filesystem::create_hard_link(path_, MakingName());

  ASSERT_EQ(Open(), Status::Ok());

  EXPECT_EQ(Names(), names);
  EXPECT_EQ(CheckSqlStore(path_), Status::Ok());
}

TEST_F(DatabaseFileTest, WhatAKilledProcessHadMadeOfItIsRemoved) {
  const std::string made = MakingName();
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) Write(made + suffix);

  ASSERT_EQ(Open(), Status::Ok());

  for (const std::string& name : Names()) EXPECT_FALSE(name.starts_with("attune.db.new.")) << name;
}

TEST_F(DatabaseFileTest, WhatALivingProcessMakesIsLeftAlone) {
  ASSERT_EQ(Open(), Status::Ok());
  const std::string made = MakingName();
  std::filesystem::create_hard_link(path_, made);
  const UniqueFd living = Lock();

  ASSERT_EQ(Open(), Status::Ok());

  EXPECT_TRUE(std::filesystem::exists(made));
}

TEST_F(DatabaseFileTest, WhoWaitsInVainForALivingMakerMakesItAndRemovesNothing) {
  const std::string made = MakingName();
  Write(made);
  const UniqueFd living = Lock();
  SqlStoreOptions options;
  options.busy_timeout = std::chrono::milliseconds(1);

  ASSERT_EQ(Open(options), Status::Ok());

  EXPECT_TRUE(std::filesystem::exists(made));
}

TEST_F(DatabaseFileTest, FilesOfAnotherKindAndOfOtherDatabasesAreLeftAlone) {
  ASSERT_EQ(Open(), Status::Ok());
  std::filesystem::create_hard_link(path_, path_ + ".backup");
  Write(path_ + ".new.text");
  Write(MakingName() + ".txt");
  Write(folder_.path() / ("other.db.new." + NewSetId()));
  const auto names = Names();

  ASSERT_EQ(Open(), Status::Ok());

  EXPECT_EQ(Names(), names);
}

// Opening a pipe would wait for a writer.
TEST_F(DatabaseFileTest, APipeBesideItIsRefused) {
  ASSERT_EQ(Open(), Status::Ok());
  SqlStoreOptions reading;
  reading.use = StoreUse::kRead;
  for (const char* suffix : {"-journal", "-wal", "-shm"}) {
    const std::string pipe = path_ + suffix;
    std::filesystem::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const SqlStoreOptions& options : {SqlStoreOptions(), reading}) {
      const Status opened = Open(options);
      EXPECT_EQ(opened.code(), StatusCode::kInvalidArgument);
      EXPECT_NE(opened.message().find(pipe), std::string::npos) << opened.message();
    }
    std::filesystem::remove(pipe);
  }
}

}  // namespace
}  // namespace attune::sql
