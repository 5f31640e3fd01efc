#include "attune/model/boosted_trees.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/fingerprint.h"
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

// How it is computed must never show: these bits are of the first version.
TEST(BoostedTrees, TheBitsAreThoseOfTheFirstVersion) {
  const Problem2D learnt = MakeProblem(500, 5);
  std::string text;

  BoostedTrees::Train(learnt.table, learnt.targets, {}).AppendText(text);

  EXPECT_EQ(FingerprintOf(text).ToHex(), "7f8e361ddd54f5782c2189fb40708edf");
}

// What the tree whose nodes are `words` says of a row, by the way from its root to a leaf.
double WalkThrough(std::span<const std::string_view> words, std::span<const float> row) {
  size_t at = 0;
  while (true) {
    const TreeWord node = *ParseTreeWord(words[at]);
    if (node.left == 0) return node.number;
    at = node.left + (static_cast<double>(row[node.column]) > node.number ? 1 : 0);
  }
}

// The sum of all trees of `text` for each row of `table`.
std::vector<double> WalkThroughAll(const std::string& text, const TreeTable& table) {
  ModelLines lines(text);
  const double base = (*lines.Numbers("base", 1))[0];
  const size_t trees = *lines.Count("trees", 1000);
  std::vector<double> sums(table.rows(), 0);
  for (size_t i = 0; i < trees; ++i) {
    const std::vector<std::string_view> words = *lines.Words("tree");
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += WalkThrough(words, table.row(j));
  }
  for (double& sum : sums) sum += base;
  return sums;
}

TEST(BoostedTrees, TreesOfAnySizeSayWhatTheWayToALeafSays) {
  const Problem2D learnt = MakeProblem(700, 6);
  const Problem2D asked = MakeProblem(13, 7);  // Not a whole number of blocks.
  for (const int leaves : {1, 2, 8, 16, 17, 63}) {
    BoostingSettings settings;
    settings.leaves = leaves;
    const BoostedTrees model = BoostedTrees::Train(learnt.table, learnt.targets, settings);
    std::string text;
    model.AppendText(text);

    std::vector<double> values(asked.table.rows());
    model.Predict(asked.table, values);

    EXPECT_EQ(values, WalkThroughAll(text, asked.table)) << leaves;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(model.PredictRow(asked.table.row(i)), values[i]) << leaves;
    }
  }
}

TEST(BoostedTrees, FilesOfOddTreesSayWhatTheWayToALeafSays) {
  const Problem2D asked = MakeProblem(20, 8);
  // Two ways to one child, leaves to which no way leads, and a root that is a leaf before others.
  const std::string text =
      "base 0x1p+0\ntrees 3\n"
      "tree 0:1:0x1p-1 1:3:0x1p-2 1:3:0x1p-1 =0x1p+0 =0x1p+1\n"
      "tree 0:2:0x1p-1 =0x1p+5 =0x1p-3 =0x1p-4 =0x1p+6\n"
      "tree =0x1p-5 1:2:0x1p-1 =0x1p+0 =0x1p+1\n";
  ModelLines lines(text);
  const auto model = BoostedTrees::ReadFrom(lines, 2);
  ASSERT_TRUE(model.ok()) << model.status().ToString();

  std::vector<double> values(asked.table.rows());
  model->Predict(asked.table, values);

  EXPECT_EQ(values, WalkThroughAll(text, asked.table));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(model->PredictRow(asked.table.row(i)), values[i]);
  }
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
