#include "attune/dispatch/policy.h"

#include <gtest/gtest.h>

#include "attune/dispatch/test_server.h"
#include "attune/ops/gemm/gemm.h"

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

// What is there of the problem before the first call.
enum class Known { kNothing, kRecord, kRecordWithoutItsKernel };

struct Outcome {
  Cost cost;
  std::string at_once;     // The solver that served the first call.
  std::string in_the_end;  // The candidate that serves when the background is done.
  Origin origin = Origin::kDefault;
};

// The default has to be compiled, and so has what a record names and what a tuning finds: where
// only dynamic solvers may take part, a dynamic one. A tuning leaves the kernel of its winner in
// the cache, as the tuner of a run time does.
class FindMode {
 public:
  explicit FindMode(const std::string& name) : preset_(ParsePreset(name).value()) {
    machine_.slow->applies = [](const Gemm&) { return Unsupported("It is not here."); };
    std::swap(machine_.solvers[1], machine_.solvers[2]);  // The compiled one is the default.
    dynamic_ = machine_.Add("test.dynamic-gemm");
    dynamic_->traits_.instant = false;
    dynamic_->traits_.compiles = true;
  }

  Outcome FirstCall(Known known) {
    TestServerOptions options;
    options.server.policy = preset_.policy;
    options.dispatch.scope = preset_.scope;
    options.tuned = [this](const Problem&) {
      KeepKernelOf(kWinner);
      // Those of a tuning in any scope.
      machine_.choices->Add(problem_,
                            ChoiceOf({machine_.compiled->At(kWinner), dynamic_->At(kWinner)}));
      return Status::Ok();
    };
    TestServer server(machine_, options);
    if (known == Known::kRecord) KeepKernelOf(kRecorded);
    if (known != Known::kNothing) machine_.choices->Add(problem_, RecordedChoice());

    Outcome outcome;
    outcome.at_once = server.SolverOfCall(problem_);
    EXPECT_TRUE(server.WaitIdle());
    const Option& served = server.Call(problem_)->option();
    outcome.in_the_end = Text(served.candidate);
    outcome.origin = served.origin;
    outcome.cost = CostOf(server);
    return outcome;
  }

  int builds_outside_of_scope() const {
    return preset_.scope == Scope::kDynamic ? machine_.compiled->builds.all() : 0;
  }

 private:
  static constexpr int64_t kRecorded = 1;
  static constexpr int64_t kWinner = 2;

  const TestSolver& expected() const {
    return preset_.scope == Scope::kDynamic ? *dynamic_ : *machine_.compiled;
  }

  IndexedChoice RecordedChoice() const {
    IndexedChoice choice = ChoiceOf({expected().At(kRecorded)});
    choice.ranking.front().load_ns = 1000;  // Within the budget of a call.
    return choice;
  }

  void KeepKernelOf(int64_t variant) {
    const auto recipe =
        expected().Recipe(problem_, expected().At(variant).config, machine_.device.target());
    ASSERT_TRUE(recipe.ok());
    ASSERT_EQ(machine_.kernels.Store(*recipe, Artifact{recipe->source}), Status::Ok());
  }

  Cost CostOf(const TestServer& server) const {
    const auto builds = {&machine_.compiled->builds, &dynamic_->builds};
    Cost cost;
    for (const StepCount* count : builds) {
      cost.builds_in_caller += count->in_this_thread();
      cost.builds_in_background += count->all() - count->in_this_thread();
    }
    cost.benchmarks_in_caller = server.tunings_in_this_thread();
    cost.benchmarks_in_background = server.tunings() - cost.benchmarks_in_caller;
    return cost;
  }

  const Preset preset_;
  const Problem problem_ = ProductOf(4, 4, 4);
  TestMachine machine_;
  TestSolver* dynamic_ = nullptr;
};

constexpr char kCompiled[] = "test.compiled-gemm";
constexpr char kDynamic[] = "test.dynamic-gemm";
constexpr char kStandIn[] = "test.quick-gemm";

// Served by the record at once, out of the cache of kernels.
void ExpectAFreeHit(const std::string& mode, const std::string& solver) {
  const Outcome outcome = FindMode(mode).FirstCall(Known::kRecord);

  EXPECT_EQ(outcome.cost, (Cost{0, 0, 0, 0}));
  EXPECT_EQ(outcome.at_once, solver);
  EXPECT_EQ(outcome.in_the_end, solver + "@1{variant=1}");
  EXPECT_EQ(outcome.origin, Origin::kMeasured);
}

// Measured once, in the caller, who is then served the winner.
void ExpectAMissThatTunes(FindMode& mode, const std::string& winner) {
  const Outcome outcome = mode.FirstCall(Known::kNothing);

  EXPECT_EQ(outcome.cost, (Cost{0, 1, 0, 0}));
  EXPECT_EQ(outcome.in_the_end, winner + "@1{variant=2}");
  EXPECT_EQ(outcome.origin, Origin::kMeasured);
}

TEST(FindModeTest, NormalBuildsAndBenchmarksNothingOnAHit) { ExpectAFreeHit("normal", kCompiled); }

TEST(FindModeTest, NormalBenchmarksInTheCallerOnAMissAndServesWhatWasFound) {
  FindMode mode("normal");
  ExpectAMissThatTunes(mode, kCompiled);
}

TEST(FindModeTest, FastBuildsAndBenchmarksNothingOnAHit) { ExpectAFreeHit("fast", kCompiled); }

TEST(FindModeTest, FastBenchmarksNothingOnAMissAndBuildsOneInTheBackground) {
  const Outcome outcome = FindMode("fast").FirstCall(Known::kNothing);

  EXPECT_EQ(outcome.cost, (Cost{0, 0, 1, 0}));
  EXPECT_EQ(outcome.at_once, kStandIn);
  EXPECT_EQ(outcome.in_the_end, "test.compiled-gemm@1{variant=0}");
  EXPECT_EQ(outcome.origin, Origin::kDefault);
}

TEST(FindModeTest, HybridBuildsAndBenchmarksNothingOnAHit) { ExpectAFreeHit("hybrid", kCompiled); }

TEST(FindModeTest, HybridBenchmarksInTheCallerOnAMissAndServesWhatWasFound) {
  FindMode mode("hybrid");
  ExpectAMissThatTunes(mode, kCompiled);
}

TEST(FindModeTest, DynamicHybridBuildsAndBenchmarksNothingOnAHit) {
  ExpectAFreeHit("dynamic_hybrid", kDynamic);
}

TEST(FindModeTest, DynamicHybridBenchmarksInTheCallerOnAMissAndServesDynamicSolversOnly) {
  FindMode mode("dynamic_hybrid");
  ExpectAMissThatTunes(mode, kDynamic);
  EXPECT_EQ(mode.builds_outside_of_scope(), 0);
}

TEST(FindModeTest, TrustVerifyBuildsAndBenchmarksNothingOnAHit) {
  ExpectAFreeHit("trust_verify", kDynamic);
}

TEST(FindModeTest, TrustVerifyBenchmarksInTheBackgroundOnAMissAndBuildsDynamicSolversOnly) {
  FindMode mode("trust_verify");

  const Outcome outcome = mode.FirstCall(Known::kNothing);

  EXPECT_EQ(outcome.cost, (Cost{0, 0, 0, 1}));
  EXPECT_EQ(outcome.at_once, kStandIn);
  EXPECT_EQ(outcome.in_the_end, "test.dynamic-gemm@1{variant=2}");
  EXPECT_EQ(outcome.origin, Origin::kMeasured);
  EXPECT_EQ(mode.builds_outside_of_scope(), 0);
}

TEST(FindModeTest, TrustVerifyFullBuildsAndBenchmarksNothingOnAHit) {
  ExpectAFreeHit("trust_verify_full", kCompiled);
}

TEST(FindModeTest, TrustVerifyFullBenchmarksAndBuildsInTheBackgroundOnAMiss) {
  const Outcome outcome = FindMode("trust_verify_full").FirstCall(Known::kNothing);

  EXPECT_EQ(outcome.cost.builds_in_caller, 0);
  EXPECT_EQ(outcome.cost.benchmarks_in_caller, 0);
  // The default; not even that if the tuning was done before.
  EXPECT_LE(outcome.cost.builds_in_background, 1);
  EXPECT_EQ(outcome.cost.benchmarks_in_background, 1);
  EXPECT_EQ(outcome.at_once, kStandIn);
  EXPECT_EQ(outcome.in_the_end, "test.compiled-gemm@1{variant=2}");
  EXPECT_EQ(outcome.origin, Origin::kMeasured);
}

TEST(FindModeTest, AHitWhoseKernelIsMissingIsBuiltInTheBackgroundInEveryMode) {
  for (const char* name :
       {"normal", "fast", "hybrid", "dynamic_hybrid", "trust_verify", "trust_verify_full"}) {
    SCOPED_TRACE(name);
    FindMode mode(name);

    const Outcome outcome = mode.FirstCall(Known::kRecordWithoutItsKernel);

    EXPECT_EQ(outcome.cost, (Cost{0, 0, 1, 0}));
    EXPECT_EQ(outcome.at_once, kStandIn);
    EXPECT_EQ(outcome.origin, Origin::kMeasured);
    EXPECT_EQ(mode.builds_outside_of_scope(), 0);
  }
}

}  // namespace
}  // namespace attune
