#include "attune/model/boosted_trees.h"

#include <algorithm>
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

// How it is computed must never show: the bits are those of the first version, in the text of the
// second one.
TEST(BoostedTrees, TheBitsAreThoseOfTheFirstVersion) {
  const Problem2D learnt = MakeProblem(500, 5);
  std::string text;

  BoostedTrees::Train(learnt.table, learnt.targets, {}).AppendText(text);

  EXPECT_EQ(FingerprintOf(text).ToHex(), "3d3868ff544d15b08b3951eeff82fa14");
}

// What the tree whose nodes are `words` says of a row, by the way from its root to a leaf.
double WalkThrough(std::span<const std::string_view> words, std::span<const float> row) {
  std::vector<size_t> lefts;
  size_t children = 1;
  for (const std::string_view word : words) {
    lefts.push_back(children);
    children += ParseTreeWord(word)->column.has_value() ? 2 : 0;
  }
  size_t at = 0;
  while (true) {
    const TreeWord node = *ParseTreeWord(words[at]);
    if (!node.column.has_value()) return static_cast<double>(node.number);
    at = lefts[at] + (row[*node.column] > node.number ? 1 : 0);
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
  struct Size {
    int leaves, max_depth;
  };
  for (const auto [leaves, max_depth] : {Size{1, 0}, Size{2, 0}, Size{8, 0}, Size{16, 0},
                                         Size{17, 0}, Size{63, 0}, Size{64, 6}, Size{40, 5}}) {
    BoostingSettings settings;
    settings.leaves = leaves;
    settings.max_depth = max_depth;
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

TEST(BoostedTrees, ColumnsThatOneByteCannotNameAreComputed) {
  constexpr size_t kColumns = 300;
  const Problem2D two = MakeProblem(700, 6);
  TreeTable table(kColumns);  // Of which the last two are those.
  table.values.resize(two.targets.size() * kColumns);
  for (size_t i = 0; i < two.targets.size(); ++i) {
    std::ranges::copy(two.table.row(i), &table.values[(i + 1) * kColumns - 2]);
  }
  BoostingSettings settings;
  settings.leaves = 64;
  settings.max_depth = 6;
  const BoostedTrees model = BoostedTrees::Train(table, two.targets, settings);
  std::string text;
  model.AppendText(text);

  std::vector<double> values(table.rows());
  model.Predict(table, values);

  EXPECT_EQ(values, WalkThroughAll(text, table));
}

TEST(BoostedTrees, NoLeafIsDeeperThanWasAskedFor) {
  const Problem2D learnt = MakeProblem(700, 6);
  BoostingSettings settings;
  settings.leaves = 64;
  settings.max_depth = 3;
  const BoostedTrees model = BoostedTrees::Train(learnt.table, learnt.targets, settings);
  std::string text;
  model.AppendText(text);

  ModelLines lines(text);
  ASSERT_TRUE(lines.Numbers("base", 1).ok());
  size_t most = 0;
  for (size_t trees = *lines.Count("trees", 1000); trees > 0; --trees) {
    most = std::max(most, lines.Words("tree")->size());
  }
  EXPECT_EQ(most, 15u);  // Eight leaves and the seven choices before them.
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

TEST(BoostedTrees, ShortNumbersMakeAShortFileThatSaysTheSameToOneInAThousand) {
  const Problem2D learnt = MakeProblem(800, 9);
  BoostingSettings settings;
  std::string exact_text, short_text;
  const BoostedTrees exact = BoostedTrees::Train(learnt.table, learnt.targets, settings);
  exact.AppendText(exact_text);
  settings.leaf_step = 0.001;

  const BoostedTrees rounded = BoostedTrees::Train(learnt.table, learnt.targets, settings);
  rounded.AppendText(short_text);

  EXPECT_LT(short_text.size(), exact_text.size() * 2 / 3);
  const Problem2D asked = MakeProblem(300, 10);
  EXPECT_NEAR(MeanError(rounded, asked), MeanError(exact, asked), 0.002);
}

TEST(BoostedTrees, WordsOfTreesHaveAColumnInLettersAndAFloat) {
  const auto text = [](const TreeWord& word) {
    std::string written;
    AppendTreeWord(written, word);
    return written;
  };
  EXPECT_EQ(text({std::nullopt, -0.036f}), "-.036");
  EXPECT_EQ(text({0, 5.25f}), "a5.25");
  EXPECT_EQ(text({51, 1e9f}), "Z1000000000");
  EXPECT_EQ(text({52, 0.1f}), "aa.1");
  for (const uint32_t column : {0u, 25u, 26u, 51u, 52u, 2755u, 2756u, 150000u}) {
    const auto read = ParseTreeWord(text({column, 0x1.fffffep-3f}));
    ASSERT_TRUE(read.has_value()) << column;
    EXPECT_EQ(read->column, column);
    EXPECT_EQ(read->number, 0x1.fffffep-3f);
  }
  for (const char* wrong : {"", "a", "1x", "nan", "-inf", "1e99", "aaaaa1", "a 1", "=1", "1.5."}) {
    EXPECT_FALSE(ParseTreeWord(wrong).has_value()) << wrong;
  }
}

TEST(BoostedTrees, DamagedTreesAreRefused) {
  const auto read = [](const std::string& text) {
    ModelLines lines(text);
    return BoostedTrees::ReadFrom(lines, 2).status();
  };
  EXPECT_TRUE(read("base 0x0p+0\ntrees 1\ntree b1 .5 2\n").ok());
  // A column that is not there, children that are not there, nodes that are nobody's children.
  EXPECT_THAT(read("base 0x0p+0\ntrees 1\ntree c1 .5 2\n").message(), HasSubstr("Line 3"));
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree b1 .5\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree b1 b1 2\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree b1 .5 2 3\n").ok());
  EXPECT_FALSE(read("base inf\ntrees 0\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 9999999999\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree 1e99\n").ok());
  EXPECT_FALSE(read("base 0x0p+0\ntrees 1\ntree\n").ok());
}

}  // namespace
}  // namespace attune
