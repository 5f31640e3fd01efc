#include "attune/library/library_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/library/sample_tool_test.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

class LibraryEvaluatorTest : public ::testing::Test {
 protected:
  void Use(std::string_view script) {
    tool_ = std::make_unique<SampleTool>(script);
    evaluator_ = MakeLibraryEvaluator(tool_->library(), "", cache_);
    ASSERT_TRUE(evaluator_->Begin(SampleTool::Vadd(1000), 1, {}, {}).ok());
  }

  MemoryKernelCache cache_;
  std::unique_ptr<SampleTool> tool_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(LibraryEvaluatorTest, CandidatesQualifyOrFailEachForItself) {
  Use("[ $1 = 64 ] && exit 9; echo TIME:$1,WS:32");
  const Candidate candidates[] = {SampleTool::WithBlock(64), SampleTool::WithBlock(128)};

  const auto results = evaluator_->Qualify(candidates, {}, nullptr);

  ASSERT_TRUE(results.ok());
  ASSERT_EQ(results->size(), 2U);
  ASSERT_NE((*results)[0].trial.failure(), nullptr);
  EXPECT_EQ((*results)[0].trial.failure()->kind, FailureKind::kCrashed);
  EXPECT_EQ((*results)[1].trial.failure(), nullptr);
  EXPECT_EQ((*results)[1].quick_ns, 128e6);
  EXPECT_EQ((*results)[1].trial.workspace_bytes, 32);
  EXPECT_EQ(evaluator_->TakeBusyTime().intervals.size(), 2U);
}

TEST_F(LibraryEvaluatorTest, ABlockIsOneRunHoweverManyLaunchesAreAskedFor) {
  Use("echo x >> runs; echo TIME:$1");
  const Candidate candidates[] = {SampleTool::WithBlock(64), SampleTool::WithBlock(128)};
  const auto timer = evaluator_->StartTiming(candidates);
  ASSERT_TRUE(timer.ok());

  const auto time = (*timer)->TimeBlock(1, {.launches = 1000});

  ASSERT_TRUE(time);
  EXPECT_EQ(*time, 128e6);
  EXPECT_EQ(std::filesystem::file_size(tool_->folder() / "runs"), 2U);
  EXPECT_THAT((*timer)->TimeBlock(0, {.cache = CacheState::kCold}).error().message,
              HasSubstr("cannot be cold"));
}

TEST_F(LibraryEvaluatorTest, AFailureWhileTimingIsOneOfMeasuring) {
  Use("[ -e runs ] && exit 1; echo TIME:1; echo x > runs");
  const Candidate candidates[] = {SampleTool::WithBlock(64)};
  ASSERT_TRUE(evaluator_->Qualify(candidates, {}, nullptr).ok());
  const auto timer = evaluator_->StartTiming(candidates);
  ASSERT_TRUE(timer.ok());

  const auto time = (*timer)->TimeBlock(0, {});

  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().phase, Phase::kMeasure);
}

TEST_F(LibraryEvaluatorTest, OperandsThatAToolDoesNotHaveAreRefused) {
  Use("echo TIME:1");
  EvaluationTerms rotating;
  rotating.rotation_bytes = 1 << 20;
  const Status begun = evaluator_->Begin(SampleTool::Vadd(1000), 1, rotating, {});

  EXPECT_EQ(begun.code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace attune
