#include "attune/space/column_machine.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "attune/space/expression.h"

namespace attune {
namespace {

using Parameters = std::vector<std::vector<ParameterValue>>;  // Named x0, x1, ...

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

// '1' where the expression is true, '0' where it is false and '!' where it cannot be computed: for
// each value of the last parameter, the first value of the others chosen. Empty if it is no column.
std::string TruthOf(std::string_view text, const Parameters& parameters,
                    ExpressionDialect dialect = ExpressionDialect::kC) {
  const auto expression = Expression::Parse(text, dialect);
  if (!expression.ok()) return expression.status().message();
  ColumnProgram program({"nchw", "nhwc", "other"});
  const auto truth = program.AddTruth(expression->tree(), dialect, [&](std::string_view name) {
    const int level = name[1] - '0';
    return NameMeaning{level, &parameters[static_cast<size_t>(level)], nullptr};
  });
  if (!truth.has_value()) return "";
  ColumnMachine machine(program);
  const auto last = static_cast<int>(parameters.size()) - 1;
  for (int level = 0; level <= last; ++level) {
    machine.SetValues(level, parameters[static_cast<size_t>(level)]);
    std::vector<ColumnId> columns;
    for (ColumnId id = 0; id < program.columns().size(); ++id) {
      if (program.columns()[id].level == level) columns.push_back(id);
    }
    machine.Run(columns, level);
    for (const ColumnId id : columns) {
      if (level < last) machine.Choose(id, 0);
    }
  }
  std::string truths;
  for (size_t lane = 0; lane < parameters.back().size(); ++lane) {
    truths += machine.HasFailed(*truth, lane) ? '!' : machine.IsTrue(*truth, lane) ? '1' : '0';
  }
  return truths;
}

TEST(ColumnMachineTest, ComputesOneCellForEachValue) {
  const Parameters parameters = {{int64_t{6}}, {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{-4}}};

  EXPECT_EQ(TruthOf("x0 % x1 == 0", parameters), "1100");
  EXPECT_EQ(TruthOf("x1 * x0 - 1 > x0 + x1", parameters), "0110");
  EXPECT_EQ(TruthOf("x1 in (2, 4) and not x1 == 2", parameters), "0010");
  EXPECT_EQ(TruthOf("max(x0, x1) == 6 ? abs(x1) > 3 : 0", parameters), "0011");
  EXPECT_EQ(TruthOf("ceil_div(x0, x1) + gcd(x0, x1)", parameters), "1111");
}

TEST(ColumnMachineTest, DialectsDivideDifferently) {
  const Parameters parameters = {{int64_t{-7}}, {int64_t{2}, int64_t{-2}}};

  EXPECT_EQ(TruthOf("x0 % x1 == -1", parameters), "11");
  EXPECT_EQ(TruthOf("x0 % x1 == -1", parameters, ExpressionDialect::kPython), "01");
  EXPECT_EQ(TruthOf("x0 / x1 == -3", parameters), "10");
  EXPECT_EQ(TruthOf("x0 / x1 == -3.5", parameters, ExpressionDialect::kPython), "10");
  EXPECT_EQ(TruthOf("x0 // x1 == -4", parameters), "10");
  EXPECT_EQ(TruthOf("-4 < x0 / x1 < 0", parameters, ExpressionDialect::kPython), "10");
}

TEST(ColumnMachineTest, WhatCannotBeComputedFailsOnlyWhereItIsNeeded) {
  const Parameters parameters = {{int64_t{8}}, {int64_t{0}, int64_t{3}, int64_t{4}}};

  EXPECT_EQ(TruthOf("x0 % x1 == 0", parameters), "!01");
  EXPECT_EQ(TruthOf("x1 == 0 || x0 % x1 == 0", parameters), "101");
  EXPECT_EQ(TruthOf("x1 != 0 && x0 % x1 == 0", parameters), "001");
  EXPECT_EQ(TruthOf("x0 % x1 == 0 || x1 == 0", parameters), "!01");
  EXPECT_EQ(TruthOf("x1 == 0 ? 1 : x0 / x1", parameters), "111");
  EXPECT_EQ(TruthOf("(x0 / x1) * 0 == 0", parameters), "!11");
  EXPECT_EQ(TruthOf("8 in (8, 1 / 0) and x1 >= 0", parameters), "111");
}

TEST(ColumnMachineTest, OverflowsFail) {
  const Parameters parameters = {{kLargest}, {int64_t{1}, int64_t{0}, int64_t{-1}, kSmallest}};

  EXPECT_EQ(TruthOf("x0 + x1 > 0", parameters), "!110");
  EXPECT_EQ(TruthOf("x0 * x1 > 0", parameters), "100!");
  EXPECT_EQ(TruthOf("-x1 < 0", parameters), "100!");
  EXPECT_EQ(TruthOf("x1 / (0 - 1) > 0", parameters), "001!");
  EXPECT_EQ(TruthOf("x1 / -1 > 0", parameters, ExpressionDialect::kPython), "0011");
  EXPECT_EQ(TruthOf("x1 * 1e308 * 10 < 0", {{kLargest}, {int64_t{1}, int64_t{0}}}), "!0");
}

TEST(ColumnMachineTest, AFailureOfAnEarlierLevelIsCarried) {
  EXPECT_EQ(TruthOf("x1 == 0 || 1 / x0 > 0", {{int64_t{0}}, {int64_t{0}, int64_t{5}}}), "1!");
}

TEST(ColumnMachineTest, TextsAreComparedInTheirOrder) {
  const Parameters parameters = {{std::string("nchw")},
                                 {std::string("nhwc"), std::string("nchw"), std::string("other")}};

  EXPECT_EQ(TruthOf("x0 == x1", parameters), "010");
  EXPECT_EQ(TruthOf("x1 > 'nhwc' or x1 in ('nchw',)", parameters), "011");
}

TEST(ColumnMachineTest, KindsThatDependOnTheValuesAreNoColumns) {
  const Parameters parameters = {{int64_t{1}, 0.5}, {std::string("nchw"), std::string("nhwc")}};

  EXPECT_EQ(TruthOf("x0 > 0 and x1 == 'nchw'", parameters), "");
  EXPECT_EQ(TruthOf("x1 > 0", parameters), "");
  EXPECT_EQ(TruthOf("x1 + 'nchw' == 'nhwc'", parameters), "");
  EXPECT_EQ(TruthOf("x1", parameters), "");
  EXPECT_EQ(TruthOf("min(1, 0.5) < 1", parameters), "");
}

TEST(ColumnProgramTest, TheSameOperationIsOneColumn) {
  const std::vector<ParameterValue> values = {int64_t{1}, int64_t{2}};
  const auto meaning = [&values](std::string_view name) {
    return NameMeaning{name == "a" ? 0 : 1, &values, nullptr};
  };
  ColumnProgram program({});
  const auto first = Expression::Parse("a * b + 1 > 2");
  const auto second = Expression::Parse("3 < a * b + 1");
  const auto of_first = program.AddTruth(first->tree(), ExpressionDialect::kC, meaning);
  const size_t columns = program.columns().size();

  const auto of_second = program.AddTruth(second->tree(), ExpressionDialect::kC, meaning);

  EXPECT_NE(of_first, of_second);
  EXPECT_EQ(program.columns().size(), columns + 2);  // 3, and the comparison.
}

}  // namespace
}  // namespace attune
