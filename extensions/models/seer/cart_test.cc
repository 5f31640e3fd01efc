#include "extensions/models/seer/cart.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune::seer {
namespace {

// A grid of two features, labelled by a tree of three leaves.
CartData LabelledGrid() {
  CartData data;
  for (const double x : {1, 2, 4, 8, 16, 32}) {
    for (const double y : {10, 40, 80, 160}) {
      data.rows.push_back({x, y});
      data.targets.push_back(x < 6 ? 0 : y < 60 ? 1 : 2);
    }
  }
  return data;
}

TEST(Cart, FindsTheTreeThatMadeTheClasses) {
  const Cart tree = Cart::GrowCrossValidated(CartKind::kClassification, LabelledGrid(), 1);

  EXPECT_EQ(tree.least_in_leaf(), 1u);
  ASSERT_EQ(tree.splits(), 2u);
  EXPECT_EQ(tree.nodes()[0].feature, 0u);
  EXPECT_EQ(tree.nodes()[0].threshold, 6);
  EXPECT_EQ(tree.nodes()[2].feature, 1u);
  EXPECT_EQ(tree.nodes()[2].threshold, 60);
}

TEST(Cart, RegressionFindsStepsFarFromZero) {
  CartData data = LabelledGrid();
  for (double& target : data.targets) target = 1e6 + 0.001 * target;

  const Cart tree = Cart::Grow(CartKind::kRegression, data, {});

  EXPECT_EQ(tree.splits(), 2u);
  for (size_t i = 0; i < data.size(); ++i) {
    EXPECT_NEAR(tree.Predict(data.rows[i]), data.targets[i], 1e-9);
  }
}

TEST(Cart, LimitsOfSplitsAndLeavesHold) {
  Random random(1);
  CartData data;
  for (int i = 0; i < 300; ++i) {
    data.rows.push_back({random.Uniform()});
    data.targets.push_back(random.Uniform());
  }

  EXPECT_EQ(Cart::Grow(CartKind::kRegression, data, {}).splits(), 64u);
  EXPECT_LE(Cart::Grow(CartKind::kRegression, data, {64, 40}).splits(), 6u);
  EXPECT_EQ(Cart::Grow(CartKind::kRegression, data, {0, 1}).splits(), 0u);
}

TEST(Cart, NoiseIsAnsweredWithLargeLeaves) {
  Random random(2);
  CartData data;
  for (int i = 0; i < 200; ++i) {
    data.rows.push_back({random.Uniform()});
    data.targets.push_back(random.Below(2) == 0 ? 0.0 : 1.0);
  }

  EXPECT_GT(Cart::GrowCrossValidated(CartKind::kRegression, data, 1).least_in_leaf(), 5u);
}

TEST(Cart, NeighbouringNumbersAreDivided) {
  const double first = 1;
  const double second = std::nextafter(first, 2.0);
  const CartData data = {{{first}, {first}, {second}, {second}}, {3, 3, 5, 5}};

  const Cart tree = Cart::Grow(CartKind::kRegression, data, {});

  EXPECT_EQ(tree.splits(), 1u);
  EXPECT_EQ(tree.Predict(std::vector<double>{first}), 3);
  EXPECT_EQ(tree.Predict(std::vector<double>{second}), 5);
}

TEST(Cart, OneRowIsALeaf) {
  const CartData one = {{{1, 2}}, {3}};

  EXPECT_EQ(Cart::GrowCrossValidated(CartKind::kRegression, one, 1).Predict(one.rows[0]), 3);
  EXPECT_EQ(Cart::GrowCrossValidated(CartKind::kClassification, one, 1).Predict(one.rows[0]), 3);
}

}  // namespace
}  // namespace attune::seer
