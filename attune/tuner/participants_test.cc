// Solvers that take part: every solver that applies, but a last resort only if it is named.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/solver/callable_solver.h"
#include "attune/tuner/tune_run.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ParticipantsTest : public ::testing::Test {
 protected:
  ParticipantsTest() {
    parts_.solvers = &solvers_;
    parts_.store = &store_;
    parts_.clock = &clock_;
  }

  void Add(const char* name, bool last_resort) {
    solvers_.push_back(MakeCallableSolver(
        {name, 1},
        {.description = "For tests", .operator_name = "gemm", .last_resort = last_resort},
        [](const Arguments&) { return Status::Ok(); }));
  }

  // Their names; fails the test if no solver takes part.
  std::vector<std::string> Participants() const {
    std::vector<std::string> names;
    const auto found = Tuner(parts_, options_).FindParticipants(problem_);
    EXPECT_TRUE(found.ok()) << found.status().message();
    if (!found.ok()) return names;
    for (const Solver* solver : *found) names.push_back(solver->id().name);
    return names;
  }

  const Problem problem_ = PackedGemm(64, 64, 64);
  FakeClock clock_;
  MemoryStore store_;
  SolverList solvers_;
  TunerParts parts_;  // Without an evaluator: these tests end before it.
  TuneOptions options_;
};

TEST_F(ParticipantsTest, BesideAnotherSolverTheReferenceTakesNoPartUnlessTheFilterNamesIt) {
  Add("test.library", false);
  Add("test.kernel", false);
  Add("test.reference", true);

  EXPECT_THAT(Participants(), ElementsAre("test.library", "test.kernel"));

  options_.solver_filter = {"reference"};
  EXPECT_THAT(Participants(), ElementsAre("test.library", "test.reference"));
}

TEST_F(ParticipantsTest, WhatOnlyTheReferenceComputesIsUnsupportedWithTheReason) {
  Add("test.reference", true);
  Add("test.slower-reference", true);

  const auto found = Tuner(parts_, options_).FindParticipants(problem_);

  EXPECT_EQ(found.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(found.status().message(),
              HasSubstr("Only the reference computes it (test.reference@1)"));
  EXPECT_THAT(found.status().message(),
              HasSubstr("if the solver filter names it: test.reference."));
}

TEST_F(ParticipantsTest, AReferenceThatTheFilterNamesTakesPartAlone) {
  Add("test.reference", true);

  options_.solver_filter = {"reference"};
  EXPECT_THAT(Participants(), ElementsAre("test.reference"));

  options_.solver_filter = {"library"};
  EXPECT_EQ(Tuner(parts_, options_).FindParticipants(problem_).status().code(),
            StatusCode::kUnsupported);
}

TEST_F(ParticipantsTest, ARunLeavesAloneWhatOnlyTheReferenceComputes) {
  Add("test.reference", true);
  const std::vector<TaggedProblem> problems = {{problem_, 1}};
  bool told_of_progress = false;

  Tuner tuner(parts_, options_);
  const auto summary =
      TuneAll(tuner, problems, {}, [&](const RunProgress&) { told_of_progress = true; });

  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->outcomes[0].kind, ProblemOutcome::Kind::kUnsupported);
  EXPECT_THAT(summary->outcomes[0].message, HasSubstr("Only the reference"));
  EXPECT_FALSE(told_of_progress);
}

TEST_F(ParticipantsTest, NobodyIsAskedAboutAProblemThatDoesNotFitIntoMemory) {
  int asked = 0;
  solvers_.push_back(MakeCallableSolver(
      {"test.library", 1}, {.description = "For tests", .operator_name = "conv"},
      [](const Arguments&) { return Status::Ok(); },
      [&](const Problem&) {
        ++asked;
        return Status::Ok();
      }));
  const auto problem = ParseProblem("conv@1{dir=fwd,n=1,c=1,h=2147483647,w=200,k=1,fh=1,fw=1}");

  const auto found = Tuner(parts_, options_).FindParticipants(*problem);

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), StatusCode::kUnsupported);
  EXPECT_THAT(found.error().message(), HasSubstr("exceeds three quarters of the memory"));
  EXPECT_EQ(asked, 0);
}

TEST(OptionsForTest, SmallStreamsRotateOnADeviceWithACache) {
  Target gpu;
  gpu.backend = "cuda";
  gpu.properties["l2_bytes"] = "1000000";
  const Problem small = *ParseProblem("softmax@2{outer=100,length=1000}");
  const Problem large = *ParseProblem("softmax@2{outer=10000,length=1000}");
  const Problem product = *ParseProblem("gemm@1{m=8,n=8,k=8}");
  const auto cache_of = [&](const TuneOptions& options, const Problem& problem,
                            const Target& target) {
    const TuneOptions made = OptionsFor(options, problem, target);
    EXPECT_EQ(made.terms.rotation_bytes, made.cache == CacheState::kRotating ? 3000000 : 0);
    return made.cache;
  };
  EXPECT_EQ(cache_of({}, small, gpu), CacheState::kRotating);
  EXPECT_EQ(cache_of({}, large, gpu), CacheState::kWarm);
  EXPECT_EQ(cache_of({}, product, gpu), CacheState::kWarm);
  EXPECT_EQ(cache_of({}, small, Target()), CacheState::kWarm);
  TuneOptions warm;
  warm.rotates_streams = false;
  EXPECT_EQ(cache_of(warm, small, gpu), CacheState::kWarm);
  TuneOptions cold;
  cold.cache = CacheState::kCold;
  EXPECT_EQ(cache_of(cold, small, gpu), CacheState::kCold);
}

}  // namespace
}  // namespace attune
