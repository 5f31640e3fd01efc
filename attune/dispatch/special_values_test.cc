// With ieee_special_values no solver that may lose NaN and infinity serves, unless it is forced.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/test_server.h"

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

// test.slow-gemm and test.plain-gemm have the trait. test.quick-gemm, which serves by default, and
// test.compiled-gemm do not.
class SpecialValuesServingTest : public ServerTest {
 protected:
  SpecialValuesServingTest() {
    machine_.slow->traits_.ieee_special_values = true;
    machine_.plain->traits_.ieee_special_values = true;
  }
  TestServer Strict(MissPolicy policy = MissPolicy::kNever, const std::string& forced = "") {
    TestServerOptions options;
    options.server.policy = policy;
    options.dispatch.ieee_special_values = true;
    options.dispatch.forced = ForcedChoices::Parse(forced, machine_.solvers).value();
    return TestServer(machine_, options);
  }
  Decision DecisionOf(TestServer& server) {
    return *server->dispatcher().Decide(problem_, *machine_.choices, kNoWorkspaceLimit,
                                        Breadth::kEverything);
  }
};

TEST_F(SpecialValuesServingTest, WithoutTheOptionEverySolverServes) {
  EXPECT_EQ(Server(MissPolicy::kNever).SolverOfCall(problem_), "test.quick-gemm");
}

TEST_F(SpecialValuesServingTest, DefaultsAndStandInsHaveTheTrait) {
  TestServer server = Strict();

  EXPECT_EQ(server.SolverOfCall(problem_), "test.plain-gemm");
  EXPECT_THAT(DecisionOf(server).options, Each(Field(&Option::keeps_special_values, true)));
}

TEST_F(SpecialValuesServingTest, ARecordIsPassedOverForTheNextOfItsRanking) {
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1), machine_.plain->At(2)}));
  TestServer server = Strict();

  const Plan* plan = server.Call(problem_);

  EXPECT_EQ(plan->option().candidate, machine_.plain->At(2));
  EXPECT_EQ(plan->option().origin, Origin::kMeasured);
  EXPECT_THAT(DecisionOf(server).skipped,
              Contains(HasSubstr("test.quick-gemm@1 may lose NaN and infinity")));
}

TEST_F(SpecialValuesServingTest, ARecordOfOtherSolversOnlyIsNotMeasuredAgain) {
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1), machine_.quick->At(2)}));
  TestServer server = Strict(MissPolicy::kDeferred);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.plain-gemm");
  ASSERT_TRUE(server.WaitIdle());
  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(SpecialValuesServingTest, ChoicesTunedInTheBackgroundAreFiltered) {
  TestServer server = Strict(MissPolicy::kDeferred);  // Tunings find test.quick-gemm.

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 1);
  EXPECT_NE(server.SolverOfCall(problem_), "test.quick-gemm");
}

TEST_F(SpecialValuesServingTest, TheChoiceOfANeighbourIsPassedOver) {
  const Problem neighbour = ProductOf(4, 4, 8);
  machine_.choices->Add(neighbour, ChoiceOf({machine_.quick->At(1)}));
  machine_.choices->AddNeighbour(neighbour, 1);

  EXPECT_EQ(Strict().SolverOfCall(problem_), "test.plain-gemm");
}

TEST_F(SpecialValuesServingTest, ALineOfAResultsFileIsPassedOver) {
  IndexedChoice choice = ChoiceOf({machine_.quick->At(1)});
  choice.is_override = true;
  choice.because = "A line of a results file says so.";
  machine_.choices->Add(problem_, choice);

  EXPECT_EQ(Strict().SolverOfCall(problem_), "test.plain-gemm");
}

TEST_F(SpecialValuesServingTest, AForcedChoiceServesWithoutTheTrait) {
  TestServer server = Strict(MissPolicy::kNever, "test.quick-gemm");

  EXPECT_EQ(server.SolverOfCall(problem_), "test.quick-gemm");
  EXPECT_FALSE(server.Call(problem_)->option().keeps_special_values);
}

TEST_F(SpecialValuesServingTest, TheFailureGivesTheReasonIfNoSolverHasTheTrait) {
  machine_.slow->traits_.ieee_special_values = false;
  machine_.plain->traits_.ieee_special_values = false;
  TestServer server = Strict();

  const Status failure = server.Call(problem_)->failure();

  EXPECT_EQ(failure.code(), StatusCode::kUnsupported);
  EXPECT_THAT(failure.message(), HasSubstr("may lose NaN and infinity"));
}

}  // namespace
}  // namespace attune
