#include "attune/space/group_builder.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::HasSubstr;

Parameter Counted(std::string name, int64_t count) {
  Parameter parameter{std::move(name), {}};
  for (int64_t i = 0; i < count; ++i) parameter.values.emplace_back(i);
  return parameter;
}

// Parameters p0, p1, ... that one rule reads.
class OneRule {
 public:
  OneRule(int count, int64_t values, std::string_view text)
      : constraint_(ConstraintFrom(*Expression::Parse(text))) {
    for (int i = 0; i < count; ++i) {
      parameters_.push_back(Counted("p" + std::to_string(i), values));
      bound_.parameters.push_back(static_cast<size_t>(i));
      problem_.order.push_back(static_cast<size_t>(i));
    }
    for (const Parameter& parameter : parameters_) current_.push_back(&parameter.values.front());
    bound_.constraint = &constraint_;
    bound_.lookup = [this](std::string_view name) {
      return current_[static_cast<size_t>(std::stoi(std::string(name.substr(1))))];
    };
    problem_.parameters = &parameters_;
    problem_.constraints = {&bound_};
    problem_.current = &current_;
  }
  OneRule(const OneRule&) = delete;
  OneRule& operator=(const OneRule&) = delete;

  GroupProblem& problem() { return problem_; }

 private:
  std::vector<Parameter> parameters_;
  Constraint constraint_;
  BoundConstraint bound_;
  std::vector<const ParameterValue*> current_;
  GroupProblem problem_;
};

std::string Sum(int count) {
  std::string sum = "p0";
  for (int i = 1; i < count; ++i) sum += " + p" + std::to_string(i);
  return sum;
}

TEST(GroupBuilderTest, ChoicesWithTheSameSumShareAState) {
  OneRule rule(12, 10, Sum(12) + " == 9");
  rule.problem().limits = {120, 10'000, 20'000};

  const auto built = BuildGroup(rule.problem(), FailedCheck::kRefuses);

  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(built->graph->size(), 167'960u);  // 20 over 9.
}

TEST(GroupBuilderTest, EachLimitEndsTheWorkAndNamesWhereItWas) {
  const std::string text = "p0 * 1000 + p1 * 100 + p2 * 10 + p3 != 7";
  for (const GroupLimits& limits :
       {GroupLimits{99, 1 << 20, 1 << 20}, GroupLimits{1 << 20, 99, 1 << 20},
        GroupLimits{1 << 20, 1 << 20, 99}}) {
    OneRule rule(4, 10, text);
    rule.problem().limits = limits;

    const auto built = BuildGroup(rule.problem(), FailedCheck::kRefuses);

    EXPECT_EQ(built.status().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(built.status().message(),
                HasSubstr("The 4 parameters that constraints tie to 'p0'"));
    EXPECT_THAT(built.status().message(), HasSubstr("needed at 'p"));
    EXPECT_THAT(built.status().message(), HasSubstr("matter to '" + text + "'; give these"));
  }
}

TEST(GroupBuilderTest, FailedChecksRefuseOrAllow) {
  OneRule rule(2, 3, "p0 % p1 == 0");

  const auto refusing = BuildGroup(rule.problem(), FailedCheck::kRefuses);
  const auto allowing = BuildGroup(rule.problem(), FailedCheck::kAllows);

  ASSERT_TRUE(refusing.ok() && allowing.ok());
  EXPECT_TRUE(refusing->any_failed);
  EXPECT_EQ(refusing->graph->size(), 5u);
  EXPECT_EQ(allowing->graph->size(), 8u);
}

}  // namespace
}  // namespace attune
