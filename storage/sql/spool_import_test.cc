#include "storage/sql/spool_import.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/recording_run.h"
#include "attune/record/spool_file.h"
#include "storage/sql/sql_database.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Problem CubeOf(int64_t size) {
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = size;
  return Normalized(gemm);
}

class SpoolImportTest : public testing::Test {
 protected:
  fs::path database() const { return scratch_->path() / "attune.db"; }
  fs::path folder() const { return SpoolFolderOf(database(), ::geteuid()); }

  // Writes a spool of a process with cubes of these sizes. Returns its path.
  fs::path Record(const std::string& tag, const std::vector<int64_t>& sizes,
                  const std::string& run = "") const {
    SpoolHeader header;
    header.tag = tag;
    header.run = run;
    SpoolFile file(SpoolPlaceOf(database(), false), header);
    std::string lines;
    for (const int64_t size : sizes) AppendProblemLine(Text(CubeOf(size)), lines);
    std::set<fs::path> before = Files();
    EXPECT_EQ(file.Append(lines), Status::Ok());
    for (const fs::path& path : Files()) {
      if (!before.contains(path)) return path;
    }
    return {};
  }
  std::set<fs::path> Files() const {
    std::set<fs::path> files;
    if (!fs::exists(folder())) return files;
    for (const auto& entry : fs::directory_iterator(folder())) files.insert(entry.path());
    return files;
  }

  // Opens the database like a verb of attune.
  SpoolImport Import(std::chrono::milliseconds patience = std::chrono::seconds(5)) {
    SpoolImport result;
    SqlStoreOptions options;
    options.busy_timeout = patience;
    options.imported = [&](const SpoolImport& imported) { result = imported; };
    store_ = *OpenSqlStore(database().string(), options);
    return result;
  }
  std::vector<TaggedProblem> Under(const std::string& tag) { return *store_->Problems(tag); }

  const std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-test-import");
  std::unique_ptr<RecordStore> store_;
};

TEST_F(SpoolImportTest, WhatWasRecordedIsInANewDatabaseAndTheSpoolIsGone) {
  Record("a", {3, 1, 2});
  Record("b", {2});

  const SpoolImport imported = Import();

  EXPECT_EQ(imported.problems, 4);
  EXPECT_EQ(imported.new_problems, 4);
  EXPECT_THAT(imported.complaints, IsEmpty());
  EXPECT_THAT(Under("a"), testing::UnorderedElementsAre(TaggedProblem{CubeOf(3), 1},
                                                        TaggedProblem{CubeOf(1), 1},
                                                        TaggedProblem{CubeOf(2), 1}));
  EXPECT_THAT(Under("b"), ElementsAre(TaggedProblem{CubeOf(2), 1}));
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_FALSE(HasSpools(database()));
}

TEST_F(SpoolImportTest, AProblemThatTheTagHasKeepsItsWeight) {
  (void)Import();
  ASSERT_EQ(store_->AddProblems("a", std::vector<TaggedProblem>{{CubeOf(1), 40}}), Status::Ok());
  Record("a", {1, 2, 2});

  const SpoolImport imported = Import();

  EXPECT_EQ(imported.new_problems, 1);
  EXPECT_THAT(Under("a"), ElementsAre(TaggedProblem{CubeOf(1), 40}, TaggedProblem{CubeOf(2), 1}));
}

TEST_F(SpoolImportTest, ATornEndCostsWhatIsTornAndIsTold) {
  const fs::path path = Record("a", {1, 2, 3});
  fs::resize_file(path, fs::file_size(path) - 5);

  const SpoolImport imported = Import();

  EXPECT_THAT(Under("a"), SizeIs(2));
  ASSERT_THAT(imported.complaints, SizeIs(1));
  EXPECT_THAT(imported.complaints[0], testing::MatchesRegex("[0-9]+ bytes that .* recorded are "
                                                            "lost: .*cut off.*"));
  EXPECT_FALSE(HasSpools(database()));
}

TEST_F(SpoolImportTest, WhatNobodyWouldHearStaysUntilSomebodyDoes) {
  const fs::path path = Record("a", {1, 2, 3});
  fs::resize_file(path, fs::file_size(path) - 5);

  store_ = *OpenSqlStore(database().string());
  EXPECT_THAT(Under("a"), SizeIs(2));
  EXPECT_TRUE(HasSpools(database()));

  EXPECT_THAT(Import().complaints, SizeIs(1));
  EXPECT_FALSE(HasSpools(database()));
}

TEST_F(SpoolImportTest, LossesOfProgramsAreTold) {
  SpoolHeader header;
  header.tag = "a";
  SpoolFile file(SpoolPlaceOf(database(), false), header);
  ASSERT_EQ(file.AppendLoss(LossLine({12, "No space left on device."})), Status::Ok());

  const SpoolImport imported = Import();

  ASSERT_THAT(imported.complaints, SizeIs(1));
  EXPECT_THAT(imported.complaints[0],
              HasSubstr("were not recorded under tag a: No space left on device."));
}

TEST_F(SpoolImportTest, AFileThatIsNoneIsToldOnceAndKept) {
  const fs::path path = Record("a", {1});
  std::ofstream(path) << "other";

  EXPECT_THAT(Import().complaints, SizeIs(1));
  EXPECT_THAT(Import().complaints, IsEmpty());

  EXPECT_THAT(Files(), ElementsAre(path.string() + ".damaged"));
}

TEST_F(SpoolImportTest, ANewerSpoolWaitsForANewerAttune) {
  const fs::path path = Record("a", {1});
  std::ofstream(path) << "attune problem spool, version 2\n";

  EXPECT_THAT(Import().complaints, ElementsAre(HasSubstr("version 2")));

  EXPECT_TRUE(fs::exists(path));
}

TEST_F(SpoolImportTest, AnEmptyFileIsRemovedWithoutAWord) {
  const fs::path path = Record("a", {1});
  fs::resize_file(path, 0);

  EXPECT_THAT(Import().complaints, IsEmpty());
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(SpoolImportTest, LinksAndFilesOfOthersAreLeftAlone) {
  const fs::path path = Record("a", {1});
  const fs::path other = scratch_->path() / "other";
  fs::copy_file(path, other);
  fs::create_symlink(other, folder() / "1-2-3-.spool");
  fs::create_hard_link(other, folder() / "1-2-4-.spool");
  ASSERT_EQ(::mkfifo((folder() / "1-2-5-.spool").c_str(), 0600), 0);
  fs::create_directory(folder() / "1-2-6-.spool");
  std::ofstream(folder() / "notes.txt") << "x";

  const SpoolImport imported = Import();

  EXPECT_EQ(imported.problems, 1);
  const auto not_regular = HasSubstr("it is no regular file");
  EXPECT_THAT(imported.complaints,
              testing::UnorderedElementsAre(not_regular, HasSubstr("it has 2 names (hard links)"),
                                            not_regular, not_regular));
  EXPECT_THAT(Files(), SizeIs(5));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(SpoolImportTest, ASpoolThatAnotherHoldsIsToldAndImportedLater) {
  const fs::path path = Record("a", {1});
  UniqueFd holder(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(holder.get(), LOCK_EX), 0);
  EXPECT_THAT(Import(std::chrono::milliseconds(20)).complaints,
              ElementsAre(HasSubstr("another process holds it")));
  holder.Reset();

  EXPECT_EQ(Import().problems, 1);
}

TEST_F(SpoolImportTest, ADatabaseThatIsBusyKeepsTheSpool) {
  (void)Import();
  Record("a", {1});
  auto writer = sql::Connection::Open(database(), {});
  ASSERT_TRUE(writer.ok() && (*writer)->BeginWrite().ok());
  EXPECT_THAT(Import(std::chrono::milliseconds(20)).complaints,
              ElementsAre(HasSubstr("Recorded problems wait in")));
  (*writer)->Rollback();

  EXPECT_EQ(Import().new_problems, 1);
}

TEST_F(SpoolImportTest, ACrashBeforeTheRemovalImportsNothingTwice) {
  Record("a", {1, 2});
  Record("a", {2, 3});
  const pid_t child = ::fork();
  if (child == 0) {
    SpoolImportOptions options;
    options.after_commit = [] { ::_exit(7); };
    const auto database = OpenSqlDatabase(this->database().string(), {});
    (void)database;  // Opening has imported the first file.
    Record("a", {4});
    (void)ImportSpools(**database, this->database(), options);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  ASSERT_TRUE(HasSpools(database()));

  const SpoolImport imported = Import();

  EXPECT_EQ(imported.problems, 1);
  EXPECT_EQ(imported.new_problems, 0);
  EXPECT_THAT(Under("a"), SizeIs(4));
}

TEST_F(SpoolImportTest, TwoImportersAtOnceLoseAndDoubleNothing) {
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    for (int64_t file = 0; file < 10; ++file) Record("a", {1 + file, 100 * (round + 1) + file});
    std::vector<std::thread> importers;
    for (int i = 0; i < 4; ++i) {
      importers.emplace_back([this] { EXPECT_TRUE(OpenSqlStore(database().string()).ok()); });
    }
    for (std::thread& importer : importers) importer.join();
  }

  EXPECT_THAT(Import().complaints, IsEmpty());
  EXPECT_THAT(Under("a"), SizeIs(10 + 10 * kRounds));
}

TEST_F(SpoolImportTest, AProgramThatRunsLosesNothing) {
  std::atomic<bool> is_done = false;
  std::thread importer([&] {
    while (!is_done) EXPECT_TRUE(OpenSqlStore(database().string()).ok());
  });
  SpoolHeader header;
  header.tag = "a";
  SpoolFile file(SpoolPlaceOf(database(), false), header);
  for (int64_t size = 1; size <= 2000; ++size) {
    std::string line;
    AppendProblemLine(Text(CubeOf(size)), line);
    ASSERT_EQ(file.Append(line), Status::Ok());
  }
  is_done = true;
  importer.join();

  (void)Import();

  EXPECT_THAT(Under("a"), SizeIs(2000));
}

TEST_F(SpoolImportTest, WhatACommandCountsStaysForItUntilItEnds) {
  const SpoolPlace place = SpoolPlaceOf(database(), false);
  {
    auto run = *RecordingRun::Begin(place);
    Record("a", {1, 2}, run.id());

    EXPECT_EQ(Import().new_problems, 2);
    EXPECT_EQ(Import().problems, 0);

    EXPECT_EQ(run.Count().problems, 2);
    EXPECT_EQ(run.Count().waiting, 0);
  }
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(SpoolImportTest, WhatOneProcessRecordsBetweenImportsIsCountedTogether) {
  const SpoolPlace place = SpoolPlaceOf(database(), false);
  {
    auto run = *RecordingRun::Begin(place);
    SpoolHeader header;
    header.tag = "a";
    header.run = run.id();
    SpoolFile file(place, header);
    for (int64_t size = 1; size <= 3; ++size) {
      std::string line;
      AppendProblemLine(Text(CubeOf(size)), line);
      ASSERT_EQ(file.Append(line), Status::Ok());
      EXPECT_EQ(Import().new_problems, 1);
    }

    EXPECT_EQ(run.Count().problems, 3);
  }
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(SpoolImportTest, ManyFilesAreImported) {
  for (int64_t file = 1; file <= 300; ++file) Record("a", {file});

  EXPECT_EQ(Import().new_problems, 300);
  EXPECT_FALSE(fs::exists(folder()));
}

}  // namespace
}  // namespace attune
