#include "attune/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Target kTarget = {"host", "AMD EPYC", "x86-64-v3", 2, {}};

Environment WholeEnvironment() {
  return {{"host.name", "a"},
          {"driver.cuda", "13.0"},
          {"library.openblas", "0.3.21"},
          {"library.openblas.build_id", "5b7c"},
          {"library.packed.build_id", "1"},
          {"policy.frequency", "performance"},
          {"tuning.per_problem_ns", "1"}};
}

bool IsPacked(std::string_view library) { return library == "packed"; }

Session Bound() {
  Session session;
  session.name = "s";
  session.terms = {"host", "x86-64-v3", kTarget, FixedPart(WholeEnvironment(), IsPacked)};
  return session;
}

TEST(SessionTest, FixesDriversPoliciesAndLibrariesThatAreNotOurOwn) {
  const Environment fixed = FixedPart(WholeEnvironment(), IsPacked);
  EXPECT_EQ(fixed, (Environment{{"driver.cuda", "13.0"},
                                {"library.openblas", "0.3.21"},
                                {"library.openblas.build_id", "5b7c"},
                                {"policy.frequency", "performance"}}));
}

TEST(SessionTest, TakesWhatIsOfItsEnvironment) {
  EXPECT_EQ(CheckBelongs(Bound(), kTarget, WholeEnvironment()), Status::Ok());
  Environment other_code = WholeEnvironment();
  other_code["library.packed.build_id"] = "2";
  other_code["host.name"] = "b";
  EXPECT_EQ(CheckBelongs(Bound(), kTarget, other_code), Status::Ok());
}

TEST(SessionTest, RefusesEachOtherFieldByNameAndValues) {
  for (const char* field :
       {"driver.cuda", "library.openblas", "library.openblas.build_id", "policy.frequency"}) {
    Environment other = WholeEnvironment();
    other[field] = "something else";
    const Status refused = CheckBelongs(Bound(), kTarget, other);
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << field;
    EXPECT_NE(refused.message().find(field), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find("something else"), std::string::npos);
    other.erase(field);
    const bool is_policy = std::string_view(field).starts_with("policy.");
    EXPECT_EQ(CheckBelongs(Bound(), kTarget, other).ok(), is_policy) << field;
  }
}

TEST(SessionTest, RefusesAnotherDevice) {
  Target other = kTarget;
  other.compute_units = 4;
  const Status refused = CheckBelongs(Bound(), other, WholeEnvironment());
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find(Text(other)), std::string::npos) << refused.message();
}

TEST(SessionTest, APolicyThatNobodyKnowsDiffersFromNothing) {
  Environment unknown = WholeEnvironment();
  unknown["policy.frequency"] = "unknown";
  EXPECT_EQ(CheckBelongs(Bound(), kTarget, unknown), Status::Ok());
}

TEST(SessionTest, OneForAnArchitectureTakesEveryDeviceOfItAndNoOther) {
  Session open;
  open.terms = {"host", "x86-64-v3", std::nullopt, {}};
  EXPECT_EQ(CheckBelongs(open, kTarget, WholeEnvironment()), Status::Ok());
  Target other = kTarget;
  other.arch = "x86-64-v4";
  EXPECT_EQ(CheckBelongs(open, other, WholeEnvironment()).code(), StatusCode::kFailedPrecondition);
}

TEST(SessionTest, AClosedOneTakesNothing) {
  Session closed = Bound();
  closed.closed_unix_ns = 1;
  const Status refused = CheckBelongs(closed, kTarget, WholeEnvironment());
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("closed"), std::string::npos);
}

TEST(SessionTest, DifferencesAreSeenInBothDirections) {
  Environment here = FixedPart(WholeEnvironment(), IsPacked);
  here["library.blis"] = "0.9.0";
  here.erase("driver.cuda");
  const auto differences = DifferencesOf(Bound().terms, kTarget, here);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0], "driver.cuda is 13.0 in the session and is missing here");
  EXPECT_EQ(differences[1], "library.blis is 0.9.0 here and is not in the session");
}

TEST(SessionTest, NamesCanBeTyped) {
  EXPECT_TRUE(ValidateSessionName("resnet50 of may").ok());
  for (const std::string& name : {std::string(), std::string("  "), std::string("a\nb"),
                                  std::string("\xc3\xa4"), std::string(81, 'x')}) {
    EXPECT_EQ(ValidateSessionName(name).code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST(SessionTest, TwoSessionsDifferByWhatEachFixed) {
  Session may;
  may.name = "may";
  may.terms.fixed = {
      {"driver.cuda", "12.4"}, {"library.blas", "1"}, {"policy.omp_wait", "unknown"}};
  Session june = may;
  june.name = "june";
  june.terms.fixed["policy.omp_wait"] = "passive";
  EXPECT_THAT(DifferencesBetween(may, june), IsEmpty());
  june.terms.fixed["library.blas"] = "2";
  june.terms.fixed["library.dnn"] = "9";
  june.terms.fixed.erase("driver.cuda");
  EXPECT_THAT(DifferencesBetween(may, june),
              ElementsAre("driver.cuda is 12.4 in 'may' and is missing in 'june'",
                          "library.blas is 1 in 'may' and 2 in 'june'",
                          "library.dnn is 9 in 'june' and is not in 'may'"));
}

}  // namespace
}  // namespace attune
