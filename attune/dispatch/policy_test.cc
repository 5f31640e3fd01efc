#include "attune/dispatch/policy.h"

#include <gtest/gtest.h>

#include "attune/dispatch/test_server.h"

namespace attune {
namespace {

TEST(MissPolicyTest, EveryNameIsReadAsWhatItNames) {
  for (const MissPolicy policy :
       {MissPolicy::kNever, MissPolicy::kRecord, MissPolicy::kDeferred, MissPolicy::kInline}) {
    EXPECT_EQ(ParseMissPolicy(Name(policy)), policy);
  }
  EXPECT_EQ(ParseMissPolicy("Deferred"), std::nullopt);
  EXPECT_EQ(ParseMissPolicy(""), std::nullopt);
}

TEST(PresetTest, ModesAreReadByNameInAnyCaseAndByNumber) {
  EXPECT_EQ(ParsePreset("DYNAMIC_HYBRID"), ParsePreset("5"));
  EXPECT_EQ(ParsePreset("dynamic_hybrid"), (Preset{MissPolicy::kInline, Scope::kDynamic}));
  EXPECT_EQ(ParsePreset("Fast"), ParsePreset("2"));
}

TEST(PresetTest, WhatIsNoModeIsNothing) {
  EXPECT_EQ(ParsePreset("4"), std::nullopt);
  EXPECT_EQ(ParsePreset("0"), std::nullopt);
  EXPECT_EQ(ParsePreset("faster"), std::nullopt);
  EXPECT_EQ(ParsePreset(""), std::nullopt);
}

// What one call cost, in the calling thread and beside it.
struct Cost {
  int builds_in_caller = 0;
  int benchmarks_in_caller = 0;
  int builds_in_background = 0;
  int benchmarks_in_background = 0;

  friend bool operator==(const Cost&, const Cost&) = default;
};

std::ostream& operator<<(std::ostream& out, const Cost& cost) {
  return out << "caller " << cost.builds_in_caller << " builds, " << cost.benchmarks_in_caller
             << " benchmarks; background " << cost.builds_in_background << " builds, "
             << cost.benchmarks_in_background << " benchmarks";
}

// The default has to be compiled, and so has what the records name.
class FindModeTest : public ::testing::Test {
 protected:
  FindModeTest() {
    machine_.slow->applies = [](const Gemm&) { return Unsupported("It is not here."); };
    std::swap(machine_.solvers[1], machine_.solvers[2]);  // The compiled one is the default.
  }

  // Of the first call, whose problem has a record or has not, and of what it left to do.
  Cost CostOfFirstCall(const std::string& mode, bool has_record) {
    const Preset preset = ParsePreset(mode).value();
    TestServerOptions options;
    options.server.policy = preset.policy;
    options.dispatch.scope = preset.scope;
    options.tuned = [this](const Problem& problem) {
      machine_.choices->Add(problem, ChoiceOf({machine_.quick->At(2)}));
      return Status::Ok();
    };
    TestServer server(machine_, options);
    const Problem problem = ProductOf(4, 4, 4);
    if (has_record) {
      IndexedChoice choice = ChoiceOf({machine_.quick->At(1)});
      machine_.choices->Add(problem, choice);
    }
    server.Call(problem);
    EXPECT_TRUE(server.WaitIdle());
    solver_ = server.SolverOfCall(problem);
    origin_ = server.Call(problem)->option().origin;
    Cost cost;
    cost.builds_in_caller = machine_.builds_in_this_thread();
    cost.builds_in_background = machine_.builds() - cost.builds_in_caller;
    cost.benchmarks_in_caller = server.tunings_in_this_thread();
    cost.benchmarks_in_background = server.tunings() - cost.benchmarks_in_caller;
    return cost;
  }

  TestMachine machine_;
  // What serves in the end.
  std::string solver_;
  Origin origin_ = Origin::kDefault;
};

TEST_F(FindModeTest, NormalBuildsAndBenchmarksNothingOnAHit) {
  EXPECT_EQ(CostOfFirstCall("normal", true), (Cost{0, 0, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, NormalBenchmarksInTheCallerOnAMiss) {
  EXPECT_EQ(CostOfFirstCall("normal", false), (Cost{0, 1, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, FastBuildsAndBenchmarksNothingOnAHit) {
  EXPECT_EQ(CostOfFirstCall("fast", true), (Cost{0, 0, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, FastBenchmarksNothingOnAMissAndBuildsOneInTheBackground) {
  EXPECT_EQ(CostOfFirstCall("fast", false), (Cost{0, 0, 1, 0}));
  EXPECT_EQ(solver_, "test.compiled-gemm");
  EXPECT_EQ(origin_, Origin::kDefault);
}

TEST_F(FindModeTest, HybridBuildsAndBenchmarksNothingOnAHit) {
  EXPECT_EQ(CostOfFirstCall("hybrid", true), (Cost{0, 0, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, HybridBenchmarksInTheCallerOnAMiss) {
  EXPECT_EQ(CostOfFirstCall("hybrid", false), (Cost{0, 1, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, DynamicHybridBuildsAndBenchmarksNothingOnAHit) {
  EXPECT_EQ(CostOfFirstCall("dynamic_hybrid", true), (Cost{0, 0, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, DynamicHybridBenchmarksInTheCallerOnAMissAndServesDynamicSolversOnly) {
  EXPECT_EQ(CostOfFirstCall("dynamic_hybrid", false), (Cost{0, 1, 0, 0}));
  EXPECT_EQ(solver_, "test.quick-gemm");
}

TEST_F(FindModeTest, TrustVerifyBuildsAndBenchmarksNothingOnAHit) {
  EXPECT_EQ(CostOfFirstCall("trust_verify", true), (Cost{0, 0, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, TrustVerifyBenchmarksInTheBackgroundOnAMissAndBuildsDynamicSolversOnly) {
  EXPECT_EQ(CostOfFirstCall("trust_verify", false), (Cost{0, 0, 0, 1}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, TrustVerifyFullBuildsAndBenchmarksNothingOnAHit) {
  EXPECT_EQ(CostOfFirstCall("trust_verify_full", true), (Cost{0, 0, 0, 0}));
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, TrustVerifyFullBenchmarksAndBuildsInTheBackgroundOnAMiss) {
  const Cost cost = CostOfFirstCall("trust_verify_full", false);

  EXPECT_EQ(cost.builds_in_caller, 0);
  EXPECT_EQ(cost.benchmarks_in_caller, 0);
  EXPECT_LE(cost.builds_in_background, 1);  // None if the tuning was done before.
  EXPECT_EQ(cost.benchmarks_in_background, 1);
  EXPECT_EQ(origin_, Origin::kMeasured);
}

TEST_F(FindModeTest, AHitWhoseKernelIsMissingIsBuiltInTheBackground) {
  machine_.choices->Add(ProductOf(4, 4, 4), ChoiceOf({machine_.compiled->At(1)}));

  EXPECT_EQ(CostOfFirstCall("fast", false), (Cost{0, 0, 1, 0}));
  EXPECT_EQ(solver_, "test.compiled-gemm");
  EXPECT_EQ(origin_, Origin::kMeasured);
}

}  // namespace
}  // namespace attune
