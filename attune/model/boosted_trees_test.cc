#include "attune/model/boosted_trees.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

struct Problem2D {
  TreeTable table{2};
  std::vector<double> targets;
};

// A step and a slope, with some noise.
Problem2D MakeProblem(size_t rows, uint64_t seed) {
  Random random(seed);
  Problem2D problem;
  for (size_t i = 0; i < rows; ++i) {
    const double x = random.Uniform();
    const double y = random.Uniform();
    problem.table.values.push_back(static_cast<float>(x));
    problem.table.values.push_back(static_cast<float>(y));
    problem.targets.push_back((x > 0.5 ? 2 : 0) + y + 0.02 * random.Uniform());
  }
  return problem;
}

double MeanError(const BoostedTrees& model, const Problem2D& problem) {
  std::vector<double> values(problem.targets.size());
  model.Predict(problem.table, values);
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += std::abs(values[i] - problem.targets[i]);
  return sum / static_cast<double>(values.size());
}

TEST(BoostedTrees, LearnsAStepAndASlope) {
  const Problem2D learnt = MakeProblem(800, 1);

  const BoostedTrees model = BoostedTrees::Train(learnt.table, learnt.targets, {});

  EXPECT_LT(MeanError(model, MakeProblem(300, 2)), 0.05);
}

TEST(BoostedTrees, TheSameSeedGivesTheSameBitsAndAnotherOneOthers) {
  const Problem2D learnt = MakeProblem(200, 3);
  std::string first, again, other;

  BoostedTrees::Train(learnt.table, learnt.targets, {}).AppendText(first);
  BoostedTrees::Train(learnt.table, learnt.targets, {}).AppendText(again);
  BoostingSettings settings;
  settings.seed = 2;
  BoostedTrees::Train(learnt.table, learnt.targets, settings).AppendText(other);

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST(BoostedTrees, ReadsBackWhatItWrote) {
  const Problem2D learnt = MakeProblem(300, 4);
  const BoostedTrees model = BoostedTrees::Train(learnt.table, learnt.targets, {});
  std::string text;
  model.AppendText(text);

  ModelLines lines(text);
  const auto read = BoostedTrees::ReadFrom(lines, 2);

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  std::string again;
  read->AppendText(again);
  EXPECT_EQ(again, text);
  EXPECT_EQ(MeanError(*read, learnt), MeanError(model, learnt));
}

TEST(BoostedTrees, OneRowAndEqualRowsAreLearntAsTheirMedian) {
  TreeTable table(1);
  table.values = {1, 1, 1};
  const std::vector<double> targets = {4, 4, 4};

  const BoostedTrees model = BoostedTrees::Train(table, targets, {});

  std::vector<double> values(3);
  model.Predict(table, values);
  EXPECT_THAT(values, ::testing::ElementsAre(4, 4, 4));
}

TEST(BoostedTrees, DamagedTreesAreRefused) {
  const auto read = [](const std::string& text) {
    ModelLines lines(text);
    return BoostedTrees::ReadFrom(lines, 2).status();
  };
  EXPECT_TRUE(read("base 0x0p+0\ntrees 1\ntree 1:1:0x1p+0 =0x1p+0 =0x1p+1\n").ok());
  // A column that is not there, a child that is not there, a walk in a circle.
  EXPECT_THAT(read("base 0x0p+0\ntrees 1\ntree 2:1:0x1p+0 =0x1p+0 =0x1p+1\n").message(),
              HasSubstr("Line 3"));
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree 1:2:0x1p+0 =0x1p+0 =0x1p+1\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree 1:0:0x1p+0 =0x1p+0 =0x1p+1\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree 1:1:0x1p+0 1:1:0x1p+0 =0x1p+1\n").ok());
  EXPECT_FALSE(read("base inf\ntrees 0\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 9999999999\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree =0x1p+999\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree\n").ok());
}

}  // namespace
}  // namespace attune
