#include "attune/kernel/capture/capture_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/kernel/capture/sample_launch_test.h"

namespace attune::capture {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class CaptureFolderTest : public testing::Test {
 protected:
  std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-capture-test");
  const fs::path out_ = scratch_->path() / "out";
  const SampleLaunch sample_{};
};

TEST_F(CaptureFolderTest, NothingThatIsThereIsOverwritten) {
  const auto first = WriteCapture(sample_.Launch(), out_);
  const auto second = WriteCapture(sample_.Launch(), out_);

  ASSERT_TRUE(first.ok()) << first.error().message();
  EXPECT_EQ(first->path, out_ / "saxpy" / "saxpy.json");
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_EQ(second->path, out_ / "saxpy-2" / "saxpy-2.json");
  EXPECT_EQ(fs::status(second->path).permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(CaptureFolderTest, WhatIsRefusedLeavesNothing) {
  CapturedLaunch launch = sample_.Launch();
  launch.source.clear();

  EXPECT_EQ(WriteCapture(launch, out_).status().code(), StatusCode::kUnsupported);

  EXPECT_FALSE(fs::exists(out_ / "saxpy"));
}

TEST_F(CaptureFolderTest, EachLaunchOfASpoolIsOneFolderAndLikesAreOne) {
  const fs::path spool = scratch_->path() / "spool";
  fs::create_directories(spool);
  const std::string bytes = SpoolOf(sample_.Launch());
  ASSERT_TRUE(WriteFileAtomically(spool / "1-0.launch", bytes).ok());
  ASSERT_TRUE(WriteFileAtomically(spool / "2-0.launch", bytes).ok());
  ASSERT_TRUE(WriteFileAtomically(spool / "1-1.launch", bytes.substr(0, 99)).ok());
  ASSERT_TRUE(WriteFileAtomically(spool / "1-2.tmp", bytes).ok());
  ASSERT_TRUE(
      WriteFileAtomically(spool / "1.events", "Saxpy\tlaunches\t3\nf\trefused\tbecause\nnonsense\n")
          .ok());
  ASSERT_TRUE(
      WriteFileAtomically(spool / "2.events", "Saxpy\tlaunches\t4\nf\trefused\tbecause\n").ok());

  const CaptureReport report = WriteCaptures(spool, out_);

  ASSERT_EQ(report.written.size(), 1u);
  EXPECT_EQ(report.written[0].number, 3u);
  EXPECT_EQ(report.written[0].data_bytes, 32u);
  EXPECT_EQ(report.launches.at("Saxpy"), 7u);
  ASSERT_EQ(report.refused.size(), 2u);
  EXPECT_THAT(report.refused[0].reason + report.refused[1].reason, HasSubstr("was cut off"));
  EXPECT_THAT(report.refused[0].reason + report.refused[1].reason, HasSubstr("because"));
}

}  // namespace
}  // namespace attune::capture
