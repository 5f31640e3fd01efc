#include "attune/space/expression.h"

#include <limits>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

using Values = std::map<std::string, ParameterValue, std::less<>>;

Result<ParameterValue> Evaluate(std::string_view text, const Values& values = {},
                                ExpressionDialect dialect = ExpressionDialect::kC) {
  ATTUNE_ASSIGN_OR_RETURN(const Expression expression, Expression::Parse(text, dialect));
  return expression.Evaluate([&values](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second;
  });
}

int64_t Integer(std::string_view text, const Values& values = {},
                ExpressionDialect dialect = ExpressionDialect::kC) {
  const auto value = Evaluate(text, values, dialect);
  EXPECT_TRUE(value.ok() && std::holds_alternative<int64_t>(*value))
      << text << ": " << value.status().message();
  return value.ok() && std::holds_alternative<int64_t>(*value) ? std::get<int64_t>(*value) : -999;
}

int64_t Python(std::string_view text, const Values& values = {}) {
  return Integer(text, values, ExpressionDialect::kPython);
}

std::string ErrorOf(std::string_view text, const Values& values = {},
                    ExpressionDialect dialect = ExpressionDialect::kC) {
  const auto value = Evaluate(text, values, dialect);
  EXPECT_FALSE(value.ok()) << text;
  return value.status().message();
}

TEST(ExpressionTest, PrecedenceIsThatOfC) {
  EXPECT_EQ(Integer("2 + 3 * 4 - 10 / 3"), 11);
  EXPECT_EQ(Integer("(2 + 3) * 4 % 7"), 6);
  EXPECT_EQ(Integer("10 - 4 - 3"), 3);
  EXPECT_EQ(Integer("-2 * -3"), 6);
  EXPECT_EQ(Integer("1 + 1 == 2 && 3 > 2 || 1 / 0"), 1);
  EXPECT_EQ(Integer("!0 + 1"), 2);
  EXPECT_EQ(Integer("not 0 + 1"), 0);
  EXPECT_EQ(Integer("not 1 == 2"), 1);
  EXPECT_EQ(Integer("1 ? 2 : 0 ? 3 : 4"), 2);
  EXPECT_EQ(Integer("5 if 0 else 6 if 0 else 7"), 7);
  EXPECT_EQ(Integer("0x1F + true"), 32);
}

TEST(ExpressionTest, DivisionDependsOnTheDialect) {
  EXPECT_EQ(Integer("-7 / 2"), -3);
  EXPECT_EQ(Integer("-7 % 2"), -1);
  EXPECT_EQ(Integer("-7 // 2"), -4);
  EXPECT_EQ(*Evaluate("7 / 2", {}, ExpressionDialect::kPython), ParameterValue(3.5));
  EXPECT_EQ(Python("-7 % 2"), 1);
  EXPECT_EQ(Python("7 % -2"), -1);
  EXPECT_EQ(Python("-7 // 2"), -4);
  EXPECT_EQ(Python("16 % (8 * 8 / 32) == 0"), 1);
  EXPECT_EQ(*Evaluate("-7.5 % 2", {}, ExpressionDialect::kPython), ParameterValue(0.5));
  EXPECT_EQ(*Evaluate("-9223372036854775808 / -1", {}, ExpressionDialect::kPython),
            ParameterValue(0x1p63));
}

TEST(ExpressionTest, BitsBindAsInCOrAsInPython) {
  EXPECT_EQ(Integer("6 & 3 | 8 ^ 12"), 6);
  EXPECT_EQ(Python("6 & 3 | 8 ^ 12"), 6);
  EXPECT_EQ(Integer("6 & 2 == 2"), 0);
  EXPECT_EQ(Python("6 & 2 == 2"), 1);
  EXPECT_EQ(Integer("1 | 0 && 0"), 0);
  EXPECT_EQ(Integer("32 == 1 << 5"), 1);
  EXPECT_EQ(Integer("1 << 2 + 1"), 8);
  EXPECT_EQ(Integer("-9 >> 1"), -5);
  EXPECT_EQ(Integer("~5 + 1"), -5);
  EXPECT_EQ(Integer("x & (x - 1)", {{"x", int64_t{64}}}), 0);
}

TEST(ExpressionTest, PowersAreThoseOfPython) {
  EXPECT_EQ(Python("2 ** 10"), 1024);
  EXPECT_EQ(Python("-2 ** 2"), -4);
  EXPECT_EQ(Python("2 ** 3 ** 2"), 512);
  EXPECT_EQ(Python("2 * 3 ** 2"), 18);
  EXPECT_EQ(Python("(-3) ** 3"), -27);
  EXPECT_EQ(Python("0 ** 0"), 1);
  EXPECT_EQ(*Evaluate("2 ** -1", {}, ExpressionDialect::kPython), ParameterValue(0.5));
  EXPECT_EQ(*Evaluate("4 ** 0.5", {}, ExpressionDialect::kPython), ParameterValue(2.0));
  const auto error = [](std::string_view text) {
    return ErrorOf(text, {}, ExpressionDialect::kPython);
  };
  EXPECT_NE(error("2 ** 63").find("does not fit"), std::string::npos);
  EXPECT_NE(error("10.0 ** 400").find("does not fit"), std::string::npos);
  EXPECT_NE(error("0 ** -1").find("division by zero"), std::string::npos);
  EXPECT_NE(error("(-8) ** 0.5").find("no real number"), std::string::npos);
}

TEST(ExpressionTest, ShiftsAndBitsThatAreNoneAreErrors) {
  EXPECT_EQ(ErrorOf("1 << 64"), "Column 3 of expression '1 << 64': a shift is by 0 to 63 bits.");
  EXPECT_NE(ErrorOf("1 >> -1").find("0 to 63 bits"), std::string::npos);
  EXPECT_NE(ErrorOf("1 << 63").find("does not fit"), std::string::npos);
  EXPECT_EQ(Integer("-1 << 63"), std::numeric_limits<int64_t>::min());
  EXPECT_NE(ErrorOf("1.5 & 1").find("wrong kind"), std::string::npos);
  EXPECT_NE(ErrorOf("~0.5").find("wrong kind"), std::string::npos);
}

TEST(ExpressionTest, AndAndOrGiveWhatDecidesInPythonAndATruthInC) {
  const Values values = {{"V", int64_t{2}}, {"W", int64_t{0}}, {"layout", std::string("nhwc")}};

  EXPECT_EQ(Python("(V or 8) == 2", values), 1);
  EXPECT_EQ(Python("(W or 8) == 8", values), 1);
  EXPECT_EQ(Python("(V and 8) == 8", values), 1);
  EXPECT_EQ(Python("(W and 1 / 0) == 0", values), 1);
  EXPECT_EQ(*Evaluate("W or layout", values, ExpressionDialect::kPython),
            ParameterValue(std::string("nhwc")));
  EXPECT_EQ(Integer("(V or 8) == 1", values), 1);
  EXPECT_EQ(Integer("(V && 8) == 1", values), 1);
}

TEST(ExpressionTest, NumbersThatBeginWith0AreOctalInCAndRefusedInPython) {
  EXPECT_EQ(Integer("064"), 52);
  EXPECT_EQ(Integer("-010 + 00 + 0"), -8);
  EXPECT_EQ(Python("00"), 0);
  EXPECT_EQ(ErrorOf("098"),
            "Column 1 of the expression: '098' is not a 64-bit integer in octal, as C reads it.");
  EXPECT_EQ(ErrorOf("1 + 064", {}, ExpressionDialect::kPython),
            "Column 5 of the expression: '064' begins with 0, as no number of Python does.");
}

TEST(ExpressionTest, IntRoundsTowardsZero) {
  EXPECT_EQ(Python("int(7 / 2) + int(-3.5) + int(4)"), 4);
  EXPECT_NE(ErrorOf("int(1e300)").find("does not fit"), std::string::npos);
  EXPECT_NE(ErrorOf("int('7')").find("wrong kind"), std::string::npos);
}

TEST(ExpressionTest, ChainedComparisonsHoldInPythonAndAreRefusedInC) {
  const Values values = {{"x", int64_t{16}}};

  EXPECT_EQ(Python("1 <= x < 17", values), 1);
  EXPECT_EQ(Python("1 <= x < 16 < 1 / 0", values), 0);
  EXPECT_EQ(Python("3 > 2 > 1 == 1"), 1);
  EXPECT_EQ(ErrorOf("1 <= x < 17", values),
            "Column 8 of the expression: comparisons do not chain; write a < b && b < c.");
}

TEST(ExpressionTest, MembershipTakesTuplesAndLists) {
  const Values values = {{"x", int64_t{16}}, {"layout", std::string("nhwc")}};

  EXPECT_EQ(Integer("x in (8, 16, 32)", values), 1);
  EXPECT_EQ(Integer("x not in [8, 32,]", values), 1);
  EXPECT_EQ(Integer("x in (16,) and layout in ('nchw', \"nhwc\")", values), 1);
}

TEST(ExpressionTest, FunctionsFoldTheirArguments) {
  EXPECT_EQ(Integer("min(4, 2, 3) * max(1, 5) + abs(-7)"), 17);
  EXPECT_EQ(Integer("ceil_div(7, 2) + ceil_div(-7, 2) + gcd(12, 18)"), 7);
  EXPECT_EQ(*Evaluate("max(1, 2.5)"), ParameterValue(2.5));
}

TEST(ExpressionTest, StringsOnlyCompare) {
  const Values values = {{"layout", std::string("nhwc")}};

  EXPECT_EQ(Integer("layout == 'nhwc'", values), 1);
  EXPECT_EQ(Integer("layout != 'nchw' && layout < 'z'", values), 1);
  EXPECT_EQ(*Evaluate("layout", values), ParameterValue(std::string("nhwc")));
  EXPECT_NE(ErrorOf("layout + 1", values).find("wrong kind"), std::string::npos);
  EXPECT_NE(ErrorOf("layout == 1", values).find("wrong kind"), std::string::npos);
  EXPECT_NE(ErrorOf("layout and 1", values).find("wrong kind"), std::string::npos);
  EXPECT_NE(ErrorOf("-layout", values).find("wrong kind"), std::string::npos);
}

TEST(ExpressionTest, LazyOperatorsDoNotEvaluateWhatTheyDoNotNeed) {
  EXPECT_EQ(Integer("0 && 1 / 0"), 0);
  EXPECT_EQ(Integer("1 || unknown"), 1);
  EXPECT_EQ(Integer("1 ? 2 : 1 / 0"), 2);
}

TEST(ExpressionTest, EvaluationErrorsNameTheirColumn) {
  EXPECT_EQ(ErrorOf("1 + 6 / (3 - 3)"),
            "Column 7 of expression '1 + 6 / (3 - 3)': division by zero.");
  EXPECT_EQ(ErrorOf("tile * 2"), "Column 1 of expression 'tile * 2': 'tile' is not known.");
  EXPECT_NE(ErrorOf("9223372036854775807 + 1").find("does not fit"), std::string::npos);
  EXPECT_NE(ErrorOf("-9223372036854775808 / -1").find("does not fit"), std::string::npos);
  EXPECT_NE(ErrorOf("-9223372036854775808 % -1").find("does not fit"), std::string::npos);
  EXPECT_NE(ErrorOf("abs(-9223372036854775808)").find("does not fit"), std::string::npos);
  EXPECT_NE(ErrorOf("1e308 * 10").find("does not fit"), std::string::npos);
  EXPECT_NE(ErrorOf("1 % 0.0").find("division by zero"), std::string::npos);
  EXPECT_NE(ErrorOf("gcd(1.5, 2)").find("wrong kind"), std::string::npos);
}

TEST(ExpressionTest, SyntaxErrorsNameTheirColumnAndWhatWasExpected) {
  EXPECT_EQ(ErrorOf(""), "Column 1 of the expression: expected a value, found the end.");
  EXPECT_EQ(ErrorOf("1 +"), "Column 4 of the expression: expected a value, found the end.");
  EXPECT_EQ(ErrorOf("1 2"),
            "Column 3 of the expression: expected an operator or the end, found '2'.");
  EXPECT_EQ(ErrorOf("(1"), "Column 3 of the expression: expected ')', found the end.");
  EXPECT_EQ(ErrorOf("a $ b"), "Column 3 of the expression: unexpected '$'.");
  EXPECT_EQ(
      ErrorOf("2 ** 3"),
      "Column 3 of the expression: there is no operator '**' in C; \"expressions\": \"python\" "
      "has it.");
  EXPECT_EQ(ErrorOf("'abc"), "Column 1 of the expression: this string has no end.");
  EXPECT_EQ(ErrorOf("sqrt(2)").find("Column 1 of the expression: there is no function 'sqrt'"), 0u);
  EXPECT_EQ(ErrorOf("abs(1, 2)"), "Column 1 of the expression: abs does not take 2 arguments.");
  EXPECT_EQ(ErrorOf("99999999999999999999"),
            "Column 1 of the expression: '99999999999999999999' is not a 64-bit integer.");
  EXPECT_EQ(ErrorOf("1.2.3"), "Column 1 of the expression: '1.2.3' is not a real number.");
  EXPECT_EQ(ErrorOf("x not 3"), "Column 7 of the expression: expected 'in', found '3'.");
  EXPECT_EQ(ErrorOf("1 + in"), "Column 5 of the expression: expected a value, found 'in'.");
}

TEST(ExpressionTest, HostileNestingIsRefusedInsteadOfExhaustingTheStack) {
  EXPECT_NE(ErrorOf(std::string(60000, '(')).find("nest"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(60000, '-') + "x").find("nest"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(60000, '!') + "x").find("nest"), std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 10000; ++i) sum += "+1";
  EXPECT_NE(ErrorOf(sum).find("nest"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(Expression::kMaxTextBytes + 1, '1')).find("bytes"),
            std::string::npos);
}

TEST(ExpressionTest, NamesAreSortedAndOnce) {
  const auto expression = Expression::Parse("b + a * b + min(c, 1) + 'd'");

  EXPECT_EQ(expression->names(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(ExpressionTest, ResultsAreConvertedOrRefused) {
  const Expression::Lookup none = [](std::string_view) { return nullptr; };

  EXPECT_TRUE(*Expression::Parse("0.5")->EvaluateBool(none));
  EXPECT_FALSE(*Expression::Parse("0.0")->EvaluateBool(none));
  EXPECT_FALSE(Expression::Parse("'x'")->EvaluateBool(none).ok());
  EXPECT_EQ(*Expression::Parse("6 / 2")->EvaluateInteger(none), 3);
  EXPECT_EQ(Expression::Parse("6 / 2.0")->EvaluateInteger(none).status().message(),
            "Expression '6 / 2.0' is 3.0, which is not an integer.");
}

// Random integer expressions against the compiler's own arithmetic.
TEST(ExpressionTest, RandomSumsAgreeWithDirectComputation) {
  Random random(23);
  for (int i = 0; i < 2000; ++i) {
    const auto a = static_cast<int64_t>(random.Below(2000)) - 1000;
    const auto b = static_cast<int64_t>(random.Below(1999)) - 1000;
    const auto c = static_cast<int64_t>(1 + random.Below(50));
    const Values values = {{"a", a}, {"b", b}, {"c", c}};

    EXPECT_EQ(Integer("a * b - a % c + (b / c) * c", values), a * b - a % c + (b / c) * c);
    EXPECT_EQ(Integer("a < b || a == c && !(b > c)", values),
              a < b || (a == c && !(b > c)) ? 1 : 0);
    EXPECT_EQ(Integer("(a // c) * c + (a - (a // c) * c)", values), a);
  }
}

TEST(ExpressionTest, AnyBytesAreAValueOrAnError) {
  Random random(29);
  const std::string alphabet = "ab01 2.5e()+-*/%<>=!&|^~?:,'\"[]ifelsenotinmax";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    const uint64_t length = random.Below(24);
    for (uint64_t j = 0; j < length; ++j) text += alphabet[random.Below(alphabet.size())];
    for (const auto dialect : {ExpressionDialect::kC, ExpressionDialect::kPython}) {
      const auto value = Evaluate(text, {{"a", int64_t{3}}, {"b", 2.5}}, dialect);
      EXPECT_TRUE(value.ok() || !value.status().message().empty());
    }
  }
}

}  // namespace
}  // namespace attune
