#include "attune/space/implied_constraint.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

// How many constraints `text` implies without `later`, where every name is from `low` to `high`.
size_t Implied(std::string_view text, const std::vector<std::string>& later, double low = 1,
               double high = 100) {
  const auto tree = ParseExpression(text, ExpressionDialect::kPython);
  const auto implied = ImpliedWithout(later, *tree, [&](std::string_view) {
    return NameRange{low, high, true};
  });
  return implied.size();
}

TEST(ImpliedConstraintTest, ComparisonsOfWhatRisesOrFallsWithTheOthersImplyBounds) {
  EXPECT_EQ(Implied("a * b * c <= 4096", {"c"}), 1u);
  EXPECT_EQ(Implied("4096 > a * b * c", {"b", "c"}), 1u);
  EXPECT_EQ(Implied("a - b * c >= 5", {"c"}), 1u);
  EXPECT_EQ(Implied("8 <= a * b <= 64 and a + c < b", {"c"}), 1u);
  EXPECT_EQ(Implied("8 <= a * b <= 64", {"b"}), 2u);
  EXPECT_EQ(Implied("a * b + c == 100", {"c"}), 2u);
  EXPECT_EQ(Implied("4096 % (a * b * c) == 0", {"b", "c"}), 1u);
  EXPECT_EQ(Implied("a == b * c", {"c"}), 3u);  // Two bounds, and that b divides a.
  EXPECT_EQ(Implied("a * b == c * 8", {"b"}), 3u);
}

TEST(ImpliedConstraintTest, WhereTheTrendIsNotKnownNothingIsImplied) {
  EXPECT_EQ(Implied("a * b * c <= 4096", {"c"}, -1), 0u);
  EXPECT_EQ(Implied("a % c <= 4", {"c"}), 0u);
  EXPECT_EQ(Implied("a * c - b * c <= 4", {"c"}), 0u);
  EXPECT_EQ(Implied("a * b <= 64 or c == 1", {"c"}), 0u);
  EXPECT_EQ(Implied("4096 % (a * b * c) == 0", {"c"}, 0), 0u);
  EXPECT_EQ(Implied("4096 % (a * (b + c)) == 1", {"c"}), 0u);
  EXPECT_EQ(Implied("a == b * c", {"c"}, 0), 2u);  // The bounds alone.
  EXPECT_EQ(Implied("a == b + c", {"c"}), 2u);
}

TEST(ImpliedConstraintTest, WhereAnOperationCouldOverflowNothingIsImplied) {
  EXPECT_EQ(Implied("a * b * c <= 4096", {"c"}, 1, 1 << 20), 1u);
  EXPECT_EQ(Implied("a * b * c <= 4096", {"c"}, 1, 1 << 21), 0u);
}

TEST(ImpliedConstraintTest, LaterParametersAreReplacedByWhatIsWeakest) {
  const auto tree = ParseExpression("a + b <= c", ExpressionDialect::kPython);

  const auto implied = ImpliedWithout({"b", "c"}, *tree, [](std::string_view name) {
    return name == "b" ? NameRange{2, 5, true} : NameRange{3, 9, true};
  });

  ASSERT_EQ(implied.size(), 1u);
  std::vector<int64_t> integers;
  for (const ExpressionNode& node : implied[0].nodes) {
    if (node.op == ExpressionOp::kInteger) integers.push_back(node.integer);
    EXPECT_TRUE(node.op != ExpressionOp::kName || node.text == "a");
  }
  EXPECT_EQ(integers, (std::vector<int64_t>{2, 9}));
}

}  // namespace
}  // namespace attune
