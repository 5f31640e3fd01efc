#include "attune/space/first_config.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::HasSubstr;

Parameter Integers(std::string name, std::initializer_list<int64_t> values) {
  return {std::move(name), {values.begin(), values.end()}};
}

Constraint Rule(std::string_view text) {
  return ConstraintFrom(*Expression::Parse(text, ExpressionDialect::kPython));
}

// The first config, by listing the space.
Config Listed(const SpaceDescription& description) {
  return ConfigSpace::Create(description.parameters, description.constraints)->At(0);
}

TEST(FirstConfigTest, IsOfFirstValuesWhereNothingForbidsThem) {
  const SpaceDescription space{{Integers("a", {3, 1}), Integers("b", {7, 8})}, {}};

  EXPECT_EQ(*FirstConfig(space), (Config{{"a", int64_t{3}}, {"b", int64_t{7}}}));
  EXPECT_EQ(*FirstConfig(space), Listed(space));
}

TEST(FirstConfigTest, IsTheFirstOfTheListUnderRulesThatTieParameters) {
  const std::vector<Parameter> parameters = {Integers("a", {1, 2, 3, 4}),
                                             Integers("b", {4, 3, 2, 1}), Integers("c", {1, 2, 3}),
                                             Integers("d", {5})};
  for (const char* rule : {"a == b", "a + b + c == 9", "c * a == 6", "a * b == c * 5 + 1", "a > 3",
                           "d == a + b", "a == c and c == b"}) {
    for (const char* other : {"d == 5", "c != 1", "b < 4", "a != 1 or c == 3"}) {
      const SpaceDescription space{parameters, {Rule(rule), Rule(other)}};
      const auto listed = ConfigSpace::Create(space.parameters, space.constraints);

      const auto first = FirstConfig(space);

      ASSERT_EQ(first.ok(), listed.ok()) << rule << " and " << other;
      if (!first.ok()) continue;
      EXPECT_EQ(*first, listed->At(0)) << rule << " and " << other;
    }
  }
}

TEST(HasConfigTest, AgreesWithTheListOfTheSpace) {
  const std::vector<Parameter> parameters = {Integers("a", {1, 2, 3}), Integers("b", {3, 2, 1})};
  for (const char* rule : {"a == b", "a + b == 4", "a * b > 1 and a != 3"}) {
    const SpaceDescription description{parameters, {Rule(rule)}};
    const auto listed = ConfigSpace::Create(description.parameters, description.constraints);
    for (int64_t a = 0; a <= 4; ++a) {
      for (int64_t b = 0; b <= 4; ++b) {
        const Config config = {{"a", a}, {"b", b}};
        EXPECT_EQ(*HasConfig(description, config), listed->IndexOf(config).has_value())
            << rule << " at " << Text(config);
      }
    }
  }
}

TEST(HasConfigTest, NeedsEveryParameterByItsNameAndType) {
  const SpaceDescription description{{Integers("a", {1}), Integers("b", {2})}, {}};

  EXPECT_TRUE(*HasConfig(description, {{"a", int64_t{1}}, {"b", int64_t{2}}}));
  EXPECT_FALSE(*HasConfig(description, {{"a", int64_t{1}}}));
  EXPECT_FALSE(*HasConfig(description, {{"a", int64_t{1}}, {"c", int64_t{2}}}));
  EXPECT_FALSE(*HasConfig(description, {{"a", int64_t{1}}, {"b", std::string("2")}}));
}

TEST(HasConfigTest, AConstraintThatCannotBeEvaluatedIsAnErrorUnlessAnotherRefuses) {
  const std::vector<Parameter> parameters = {Integers("a", {0, 2}), Integers("b", {4})};
  const Config zero = {{"a", int64_t{0}}, {"b", int64_t{4}}};

  EXPECT_FALSE(HasConfig({parameters, {Rule("b // a > 0")}}, zero).ok());
  EXPECT_FALSE(*HasConfig({parameters, {Rule("b // a > 0"), Rule("a > 0")}}, zero));
}

TEST(HasConfigTest, ConstraintsMayReadConstants) {
  const SpaceDescription description{
      {Integers("a", {1, 3})}, {Rule("a < most")}, {{"most", int64_t{3}}}};

  EXPECT_TRUE(*HasConfig(description, {{"a", int64_t{1}}}));
  EXPECT_FALSE(*HasConfig(description, {{"a", int64_t{3}}}));
}

TEST(FirstConfigTest, WhatCannotBeEvaluatedIsAnErrorOnlyIfNothingIsValid) {
  const std::vector<Parameter> parameters = {Integers("a", {0, 2}), Integers("b", {4, 3})};

  EXPECT_EQ(*FirstConfig({parameters, {Rule("b // a > 0"), Rule("a > 0")}}),
            (Config{{"a", int64_t{2}}, {"b", int64_t{4}}}));
  EXPECT_THAT(FirstConfig({parameters, {Rule("b // a > 5")}}).status().message(),
              HasSubstr("division by zero"));
}

TEST(FirstConfigTest, ConstraintsMayReadConstants) {
  const SpaceDescription space{{Integers("a", {1, 2, 3, 4})},
                               {Rule("a >= least"), Rule("least < 9")},
                               {{"least", int64_t{3}}}};

  EXPECT_EQ(*FirstConfig(space), (Config{{"a", int64_t{3}}}));
  EXPECT_EQ(FirstConfig({space.parameters, {Rule("a >= most")}, space.constants}).status().code(),
            StatusCode::kNotFound);
}

TEST(FirstConfigTest, SaysWhichConstraintLeavesNothing) {
  const SpaceDescription space{{Integers("a", {1, 2}), Integers("b", {1, 2})},
                               {Rule("a > 1"), Rule("a + b > 9"), Rule("b < 9")}};

  EXPECT_EQ(FirstConfig(space).status().message(),
            "No config of the space is valid: 'a + b > 9' forbids those that are left.");
}

TEST(FirstConfigTest, GivesUpAfterSoManyChecks) {
  const SpaceDescription tied{{Integers("a", {1, 2, 3}), Integers("b", {1, 2, 3, 4}),
                               Integers("c", {1, 2, 3, 4}), Integers("d", {1, 2, 3})},
                              {Rule("a + d == 6")}};

  EXPECT_EQ(FirstConfig(tied, 50).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(*FirstConfig(tied, 500), Listed(tied));
}

TEST(FirstConfigTest, ASpaceWithoutParametersHasOneConfig) {
  EXPECT_EQ(*FirstConfig({}), Config());
}

TEST(FirstConfigTest, WhatCannotBeIsAnError) {
  const Parameter a = Integers("a", {1, 2});

  EXPECT_EQ(FirstConfig({{a}, {Rule("a == 3")}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FirstConfig({{a}, {Rule("a == 1"), Rule("1 == 2")}}).status().code(),
            StatusCode::kInvalidArgument);
  const Status unknown = FirstConfig({{a}, {Rule("b == 1")}}).status();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("reads 'b'"));
}

}  // namespace
}  // namespace attune
