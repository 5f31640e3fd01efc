#include "attune/model/evaluation.h"

#include <gtest/gtest.h>

#include "attune/model/sample_times.h"

namespace attune {
namespace {

TEST(ScoreOf, AModelOfExactSumsChoosesRightlyAndItsIntervalsHold) {
  auto model = TimeModel::Standard(SampleFeatures(), {});
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE(model->Fit(SampleTimes(80, 0.02, 1)).ok());

  const ModelScore score = ScoreOf(*model, SampleTimes(40, 0.02, 2));

  EXPECT_EQ(score.samples, 80u);
  EXPECT_EQ(score.choices, 40u);
  EXPECT_LT(score.mean_error, 0.1);
  EXPECT_LE(score.median_error, score.mean_error);
  EXPECT_GE(score.within_interval, 60u);
  EXPECT_LE(score.wrong, 2u);
  EXPECT_GE(score.geometric_regret, score.top2_regret);
  EXPECT_EQ(score.top2_regret, 1);
}

TEST(ScoreOf, OneWayToComputeIsNoChoice) {
  auto model = TimeModel::Standard(SampleFeatures(), {});
  std::vector<Sample> samples = SampleTimes(40, 0.02, 1);
  ASSERT_TRUE(model->Fit(samples).ok());
  std::erase_if(samples, [](const Sample& x) { return x.row.algorithm == "b"; });

  EXPECT_EQ(ScoreOf(*model, samples).choices, 0u);
  EXPECT_EQ(ScoreOf(*model, {}).samples, 0u);
}

}  // namespace
}  // namespace attune
