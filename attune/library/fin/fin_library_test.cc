// Convolutions of MIOpen as candidates: compiled, timed, kept apart.
#include "attune/library/fin/fin_library.h"

#include <cstdlib>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/kernel_cache.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/library/fin/fin_request.h"
#include "attune/library/library_evaluator.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

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

TEST_F(FinLibraryTest, OnlySolversThatHaveParametersAreSearched) {
  const auto library = OpenStandIn();
  const Solver& solver = *library->solvers().back();

  const auto space = solver.Space(AConv(), library->target());

  ASSERT_TRUE(space.ok()) << space.error().message();
  EXPECT_EQ(Text(Candidate{solver.id(), space->At(0)}), "miopen.conv-search@1{solver=ConvAsm1x1U}");
  EXPECT_EQ(Text(Candidate{solver.id(), space->At(1)}),
            "miopen.conv-search@1{solver=ConvOclDirectFwd}");
  EXPECT_EQ(space->size(), 2U);
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

// Results of a search of ConvAsm1x1U, and of the same for another solver beside it.
class FinSearchTest : public FinLibraryTest {
 protected:
  // Searches all candidates, or `some`.
  std::vector<Qualified> Search(const std::string& faults, std::vector<Candidate> some = {}) {
    ::setenv("STAND_IN_FIN", faults.c_str(), 1);
    evaluator_.reset();
    library_ = OpenStandIn();
    return Qualify(some.empty() ? asked_ : some);
  }
  std::vector<Qualified> Qualify(const std::vector<Candidate>& candidates) {
    evaluator_ = MakeLibraryEvaluator(*library_, "0", *cache_);
    EXPECT_TRUE(evaluator_->Begin(AConv(), 1, {}, {}).ok());
    const auto results = evaluator_->Qualify(candidates, {}, nullptr);
    EXPECT_TRUE(results.ok());
    return results.ok() ? *results : std::vector<Qualified>();
  }
  void ForgetWhatIsKept() {
    evaluator_.reset();
    cache_ = std::make_unique<MemoryKernelCache>();
  }

  std::unique_ptr<MemoryKernelCache> cache_ = std::make_unique<MemoryKernelCache>();
  std::unique_ptr<FinLibrary> library_;
  std::unique_ptr<Evaluator> evaluator_;
  const std::vector<Candidate> asked_ = {miopen::SearchedCandidateOf({"ConvAsm1x1U", ""}),
                                         miopen::SearchedCandidateOf({"ConvOclDirectFwd", ""})};
  const Candidate found_ = miopen::SearchedCandidateOf({"ConvAsm1x1U", "9,8,2,64,1,1,1,4"});
};

TEST_F(FinSearchTest, WhatIsFoundIsTheCandidateAndIsTimedAsIt) {
  const auto results = Search("", {asked_[0]});

  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].trial.failure(), nullptr);
  EXPECT_EQ(results[0].trial.candidate, found_);
  EXPECT_EQ(AskedOf(results[0]), asked_[0]);
  EXPECT_DOUBLE_EQ(results[0].quick_ns, 0.25e6);
  // The workspace of the found parameters; the search reports that of the default.
  EXPECT_EQ(results[0].trial.workspace_bytes, 2048);
  const auto timer = evaluator_->StartTiming({&found_, 1});
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  EXPECT_EQ((*timer)->TimeBlock(0, {}), 0.25e6);
}

TEST_F(FinSearchTest, TheKernelsOfWhatIsFoundAreKeptAndNoOthers) {
  Search("", {asked_[0]});

  const auto recipe =
      library_->solvers().back()->Recipe(AConv(), found_.config, library_->target());
  ASSERT_TRUE(recipe.ok());
  const auto kept = cache_->Find(*recipe);
  ASSERT_TRUE(kept.has_value());
  const auto build = KeptBuildOf(kept->bytes);
  ASSERT_TRUE(build.ok()) << build.error().message();
  ASSERT_EQ(build->kernels.size(), 1U);
  EXPECT_EQ(build->kernels[0].options, " -DSET=1");
}

TEST_F(FinSearchTest, NobodySearchesTwice) {
  Search("", {asked_[0]});

  const auto again = Search("ConvAsm1x1U=segv@miopen_perf_eval", {asked_[0]});

  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].trial.failure(), nullptr);
  EXPECT_EQ(again[0].trial.candidate, found_);
}

TEST_F(FinSearchTest, ASearchThatTakesFinDownCostsNoOtherItsOutcome) {
  const auto results = Search("ConvAsm1x1U=throw@miopen_perf_eval");

  ASSERT_EQ(results.size(), 2U);
  ASSERT_NE(results[0].trial.failure(), nullptr);
  EXPECT_EQ(results[1].trial.failure(), nullptr);
}

TEST_F(FinSearchTest, ASearchThatComesToNothingSaysWhy) {
  for (const auto& [fault, kind, says] :
       {std::tuple("throw@miopen_perf_eval", FailureKind::kCrashed, "terminate called"),
        std::tuple("segv@miopen_perf_compile", FailureKind::kBuildFailed, "signal 11"),
        std::tuple("quiet_zero@miopen_perf_eval", FailureKind::kRunFailed, "its time is 0"),
        std::tuple("missing@miopen_perf_eval", FailureKind::kRunFailed, "says nothing of it"),
        std::tuple("no_params@miopen_perf_eval", FailureKind::kRunFailed, "the parameters ''"),
        std::tuple("no_database@miopen_perf_eval", FailureKind::kRunFailed, "in 0 files"),
        std::tuple("other_params@miopen_find_eval", FailureKind::kRunFailed,
                   "the parameters '1,8,2,64,1,1,1,4' in the place of '9,8,2,64,1,1,1,4'")}) {
    ForgetWhatIsKept();
    const auto results = Search("ConvAsm1x1U=" + std::string(fault), {asked_[0]});

    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].trial.candidate, asked_[0]) << fault;
    ASSERT_NE(results[0].trial.failure(), nullptr) << fault;
    EXPECT_EQ(results[0].trial.failure()->kind, kind) << fault;
    EXPECT_THAT(results[0].trial.failure()->message, HasSubstr(says));
  }
}

TEST_F(FinSearchTest, WhatWasFoundElsewhereIsNotBuiltHere) {
  Search("", {asked_[0]});
  ForgetWhatIsKept();

  const auto results = Qualify({found_});

  ASSERT_EQ(results.size(), 1U);
  ASSERT_NE(results[0].trial.failure(), nullptr);
  EXPECT_THAT(results[0].trial.failure()->message,
              HasSubstr("ConvAsm1x1U with 9,8,2,64,1,1,1,4 is not in the kernel cache"));
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
