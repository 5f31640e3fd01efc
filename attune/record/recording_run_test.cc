#include "attune/record/recording_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "attune/base/scratch_folder.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/spool_file.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class RecordingRunTest : public testing::Test {
 protected:
  RecordingRunTest() { run_.emplace(*RecordingRun::Begin(place_)); }

  fs::path folder() const { return SpoolFolderOf(place_.database, ::geteuid()); }
  void Record(const std::string& run, std::initializer_list<int64_t> sizes) const {
    SpoolHeader header;
    header.tag = "t";
    header.run = run;
    SpoolFile file(place_, header);
    std::string lines;
    for (const int64_t size : sizes) {
      Gemm gemm;
      gemm.m = gemm.n = gemm.k = size;
      AppendProblemLine(Text(Problem(Normalized(gemm))), lines);
    }
    ASSERT_EQ(file.Append(lines), Status::Ok());
  }

  const std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-test-run");
  const SpoolPlace place_ = SpoolPlaceOf(scratch_->path() / "attune.db", false);
  std::optional<RecordingRun> run_;
};

TEST_F(RecordingRunTest, CountsDifferentProblemsOfItsProcessesAlone) {
  Record(run_->id(), {1, 2, 3});
  Record(run_->id(), {3, 4});
  Record("", {5});
  Record("fedcba9876543210", {6});

  const RecordedCount count = run_->Count();

  EXPECT_EQ(count.problems, 4);
  EXPECT_EQ(count.waiting, 4);
  EXPECT_THAT(count.losses, IsEmpty());
}

TEST_F(RecordingRunTest, CountsWhatWasNotKnownBefore) {
  Record(run_->id(), {1, 2, 3});
  Gemm known;
  known.m = known.n = known.k = 2;

  const RecordedCount count = run_->Count({KeyOf(Problem(Normalized(known)))});

  EXPECT_EQ(count.problems, 3);
  EXPECT_EQ(count.added, 2);
}

TEST_F(RecordingRunTest, HearsOfLossesWithoutADisk) {
  EXPECT_TRUE(TellRun(place_, run_->id(), {3, "No space left on device."}));
  EXPECT_TRUE(TellRun(place_, run_->id(), {0, std::string(5000, '%')}));

  const RecordedCount count = run_->Count();

  ASSERT_EQ(count.losses.size(), 2u);
  EXPECT_EQ(count.losses[0], (SpoolLoss{3, "No space left on device."}));
  EXPECT_EQ(count.losses[1].reason, std::string(512, '%'));
}

TEST_F(RecordingRunTest, IsToldApartFromOneThatHasEnded) {
  const std::string id = run_->id();
  const auto folder = OpenOwnSpoolFolder(place_);
  ASSERT_TRUE(folder.ok());
  EXPECT_TRUE(IsRunning(folder->get(), id));

  run_.reset();

  EXPECT_FALSE(IsRunning(folder->get(), id));
  EXPECT_FALSE(TellRun(place_, id, {1, "x"}));
}

TEST_F(RecordingRunTest, AnIdIsNoPath) {
  EXPECT_FALSE(TellRun(place_, "../../../../tmp/x", {1, "x"}));
  EXPECT_FALSE(TellRun(place_, "", {1, "x"}));
}

TEST_F(RecordingRunTest, AFullPipeLosesWordsAndBlocksNobody) {
  int told = 0;
  while (told < 100'000 && TellRun(place_, run_->id(), {1, std::string(400, 'x')})) ++told;

  EXPECT_GT(told, 50);
  EXPECT_LT(told, 100'000);
  EXPECT_EQ(run_->Count().losses.size(), static_cast<size_t>(told));
}

TEST_F(RecordingRunTest, LeavesNothingBehind) {
  Record(run_->id(), {1});
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != kSpoolSuffix) continue;
    fs::path imported = entry.path();
    fs::rename(entry.path(), imported.replace_extension(kImportedSuffix));
    break;
  }
  EXPECT_EQ(run_->Count().problems, 1);
  EXPECT_EQ(run_->Count().waiting, 0);

  run_.reset();

  EXPECT_FALSE(fs::exists(folder()));
}

}  // namespace
}  // namespace attune
