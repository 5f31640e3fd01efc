// Convolutions of MIOpen as candidates: compiled, timed, kept apart.
#include "attune/fin/fin_library.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/kernel_cache.h"
#include "attune/library/library_evaluator.h"
#include "attune/miopen/solver_candidate.h"

namespace attune::fin {
namespace {

using ::testing::HasSubstr;

Problem AConv() {
  Conv conv;
  conv.batch = 16;
  conv.in_channels = 64;
  conv.out_channels = 64;
  conv.in = {1, 28, 28};
  return conv;
}

std::unique_ptr<FinLibrary> OpenStandIn() {
  auto library = FinLibrary::Open({ATTUNE_STAND_IN_FIN, "gfx90a:104", "0", "60"});
  EXPECT_TRUE(library.ok()) << library.status().message();
  return std::move(*library);
}

class FinLibraryTest : public ::testing::Test {
 protected:
  ~FinLibraryTest() override { ::unsetenv("STAND_IN_FIN"); }
};

TEST_F(FinLibraryTest, TheSolversThatApplyAreTheConfigsAndTheirCandidatesAreThoseOfDatabases) {
  const auto library = OpenStandIn();
  const Solver& solver = *library->solvers().front();

  const auto space = solver.Space(AConv(), library->target());

  ASSERT_TRUE(space.ok()) << space.error().message();
  ASSERT_EQ(space->size(), 3U);
  const auto choice = miopen::SolverChoiceOf({solver.id(), space->At(0)});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->solver, "ConvAsm1x1U");
  EXPECT_EQ(solver.IsApplicable(Gemm{}, library->target()).code(), StatusCode::kUnsupported);
}

TEST_F(FinLibraryTest, CandidatesAreCompiledAndTimedAndFailEachForItself) {
  ::setenv("STAND_IN_FIN", "ConvOclDirectFwd=quiet_zero,GemmFwd1x1_0_1=segv", 1);
  const auto library = OpenStandIn();
  MemoryKernelCache cache;
  const auto evaluator = MakeLibraryEvaluator(*library, "0", cache);
  ASSERT_TRUE(evaluator->Begin(AConv(), 1, {}, {}).ok());
  std::vector<Candidate> candidates;
  for (const char* name : {"ConvAsm1x1U", "ConvOclDirectFwd", "GemmFwd1x1_0_1"}) {
    candidates.push_back(miopen::CandidateOf({name, ""}));
  }

  const auto results = evaluator->Qualify(candidates, {}, nullptr);

  ASSERT_TRUE(results.ok());
  ASSERT_EQ(results->size(), 3U);
  EXPECT_EQ((*results)[0].trial.failure(), nullptr);
  EXPECT_DOUBLE_EQ((*results)[0].quick_ns, 0.5e6);
  EXPECT_EQ((*results)[0].trial.workspace_bytes, 4096);
  ASSERT_NE((*results)[1].trial.failure(), nullptr);
  EXPECT_EQ((*results)[1].trial.failure()->kind, FailureKind::kRunFailed);
  EXPECT_THAT((*results)[1].trial.failure()->message, HasSubstr("its time is 0"));
  ASSERT_NE((*results)[2].trial.failure(), nullptr);
  EXPECT_EQ((*results)[2].trial.failure()->kind, FailureKind::kBuildFailed);
  EXPECT_THAT((*results)[2].trial.failure()->message, HasSubstr("signal 11"));
  EXPECT_EQ(cache.counters().stores, 2);
}

TEST_F(FinLibraryTest, SettingsThatAreNoneAreNamed) {
  const auto refusal = [](const FinSettings& settings) {
    return FinLibrary::Open(settings).status().message();
  };
  EXPECT_THAT(refusal({"fin", "gfx90a"}), HasSubstr("ATTUNE_FIN_TARGET is 'gfx90a'"));
  EXPECT_THAT(refusal({"fin", "sm_90:132"}), HasSubstr("as gfx90a:104"));
  EXPECT_THAT(refusal({"fin", "gfx90a:0"}), HasSubstr("as gfx90a:104"));
  EXPECT_THAT(refusal({"fin", "gfx90a:104", ""}), HasSubstr("names no device"));
  EXPECT_THAT(refusal({"fin", "gfx90a:104", "0", "soon"}), HasSubstr("number of seconds"));
  const auto missing = FinLibrary::Open({"/no/fin", "gfx90a:104"});
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE((*missing)->Report().available);
  EXPECT_THAT((*missing)->Report().missing, HasSubstr("/no/fin"));
}

}  // namespace
}  // namespace attune::fin
