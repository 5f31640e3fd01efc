// The switches of TunableOp's kind on libattune.so: the database shows their effect.
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "attune/tunable/untuned_file.h"
#include "tests/runtime/tunable_world.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST_F(TunableRuntime, NoCandidateIsTimedMoreOftenThanMaxTuningIterations) {
  constexpr int64_t kIterations = 7;
  Set({{"MAX_TUNING_ITERATIONS", std::to_string(kIterations)}});

  TuneInline(16);

  size_t measured = 0;
  for (const Trial& trial : Trials()) {
    if (trial.measurement() == nullptr) continue;
    ++measured;
    EXPECT_LE(trial.measurement()->samples_ns.size(), static_cast<size_t>(kIterations));
  }
  EXPECT_GT(measured, 0u);
  EXPECT_THAT(Sets().front().set.environment, Contains(Pair("tuning.max_launches", "7")));
}

TEST_F(TunableRuntime, WithoutTheLayerItsLimitsHoldNothingBack) {
  Set({{"ENABLED", "0"}, {"MAX_TUNING_ITERATIONS", "1"}});

  TuneInline(16);

  const std::vector<Trial> trials = Trials();
  EXPECT_TRUE(std::any_of(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.measurement() != nullptr && trial.measurement()->samples_ns.size() > 1;
  }));
}

TEST_F(TunableRuntime, NoLaunchLongerThanMaxTuningDurationIsTimedTwice) {
  world_.Set("ATTUNE_FAKE_SCRIPT", "* time_ns=50000000");
  Set({{"MAX_TUNING_DURATION_MS", "30"}});

  TuneInline(16);

  for (const Trial& trial : Trials()) {
    if (trial.measurement() != nullptr) {
      EXPECT_EQ(trial.measurement()->samples_ns.size(), 1u);
    }
  }
}

TEST_F(TunableRuntime, ALibraryThatIsSwitchedOffIsNeverTried) {
  Set({{"LIBRARY_ENABLED", "0"}});

  TuneInline(16);

  const std::set<std::string> solvers = SolversOf(Trials());
  EXPECT_THAT(solvers, Not(Contains("fake.library")));
  EXPECT_THAT(solvers, Contains("fake.tiled"));
  EXPECT_THAT(Results(), Not(HasSubstr("fake.library")));
}

TEST_F(TunableRuntime, TheEnvironmentBeatsTheApiForLibraries) {
  Set({{"LIBRARY_ENABLED", "0"}});
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_EQ(attune_tunable_library_enable(runtime.get(), "library", 1), ATTUNE_FAILED_PRECONDITION);
  EXPECT_THAT(attune_last_message(), HasSubstr("ATTUNE_TUNABLE_LIBRARY_ENABLED"));
  EXPECT_EQ(attune_tunable_library_is_enabled(runtime.get(), "library"), 0);
  EXPECT_EQ(attune_tunable_library_enable(runtime.get(), "tiled", 0), ATTUNE_OK);
  EXPECT_EQ(attune_tunable_library_is_enabled(runtime.get(), "tiled"), 0);
}

TEST_F(TunableRuntime, ALibraryThatNobodyRunsIsNamed) {
  Set({{"LIBRARI_ENABLED", "0"}});
  MessageLog log;

  const RuntimeHandle runtime = MakeRuntime(log.Options(ATTUNE_NEVER));

  EXPECT_THAT(log.lines(), Contains(HasSubstr("a library 'librari'")));
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  EXPECT_EQ(attune_tunable_library_enable(runtime.get(), "nosuchlib", 0), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("'nosuchlib'"));
  EXPECT_EQ(attune_tunable_library_is_enabled(runtime.get(), "nosuchlib"), 1);
}

TEST_F(TunableRuntime, ARecordOfALibraryThatIsSwitchedOffIsMeasuredAgainWithoutIt) {
  world_.Set("ATTUNE_FAKE_SCRIPT", "fake.library time_ns=1000");
  Set({{"ENABLED", "0"}});
  TuneInline(16);
  ASSERT_EQ(Sets().size(), 1u);
  Set({{"ENABLED", "1"}, {"LIBRARY_ENABLED", "0"}});

  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  std::ofstream(untuned_file()) << UntunedLine(Sets().front().set.problem, false) << "\n";
  ASSERT_EQ(attune_tunable_tune_in_file(runtime.get(), untuned_file().c_str(), nullptr), ATTUNE_OK)
      << attune_last_message();

  ASSERT_EQ(Sets().size(), 2u);
  EXPECT_THAT(Results(), Not(HasSubstr("fake.library")));
}

TEST_F(TunableRuntime, AsManyOfALibrarysListAreTriedAsAreAskedFor) {
  world_.Set("ATTUNE_FAKE_SCRIPT", "device listed=40;fake.listed time_ns=1000");
  const auto listed_tried = [&] {
    std::set<Config> tried;
    for (const Trial& trial : Trials()) {
      const Candidate& candidate = trial.candidate;
      if (candidate.solver.name == "fake.listed") tried.insert(candidate.config);
    }
    return tried.size();
  };
  Set({{"REQUESTED_ALGO_COUNT", "3"}});

  TuneInline(16);

  // And the library's default; fewer if the machine is busy.
  EXPECT_LE(listed_tried(), 3u + 1u);
  EXPECT_THAT(Sets().front().set.environment, Contains(Pair("tuning.max_listed", "3")));
  // A candidate that only the device's library lists serves as any other does.
  EXPECT_THAT(Results(), HasSubstr(",fake.listed"));
  const RuntimeHandle serving = MakeRuntime(ATTUNE_NEVER);
  ASSERT_TRUE(Multiply(serving.get(), 16)) << attune_last_message();
  EXPECT_EQ(TunableCountersOf(serving.get()).hits_by_problem, 1);
}

TEST_F(TunableRuntime, RotatingOperandsShowInTheRecord) {
  Set({{"ROTATING_BUFFER_SIZE", "1"}});

  TuneInline(16);

  const std::vector<RecordedSet> sets = Sets();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].set.cache, CacheState::kRotating);
  EXPECT_THAT(sets[0].set.environment, Contains(Pair("tuning.rotation_bytes", "1048576")));
  for (const Record& record : sets[0].records) {
    const Measurement* measurement = record.trial.measurement();
    if (measurement != nullptr) {
      EXPECT_EQ(measurement->cache, CacheState::kRotating);
    }
  }
}

TEST_F(TunableRuntime, UnsetTheRotationIsAsLargeAsTheLastLevelCacheOfTheDevice) {
  world_.Set("ATTUNE_TUNABLE_ROTATING_BUFFER_SIZE", std::nullopt);

  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);

  ASSERT_NE(runtime, nullptr) << attune_last_message();
  EXPECT_EQ(attune_tunable_get_rotating_buffer_size_bytes(runtime.get()), 3 << 20);
  TuneInline(16);
  EXPECT_THAT(Sets().front().set.environment, Contains(Pair("tuning.rotation_bytes", "3145728")));
}

TEST_F(TunableRuntime, RotatingOperandsAreTimedOnTheHostToo) {
  world_.Set("ATTUNE_DEVICE", "cpu");
  Set({{"ROTATING_BUFFER_SIZE", "1"}});

  TuneInline(24);

  const std::vector<RecordedSet> sets = Sets();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].set.cache, CacheState::kRotating);
  EXPECT_TRUE(sets[0].finished);
}

TEST_F(TunableRuntime, WhoeverDoesNotAgreeWithTheDefaultIsRecordedAsWrong) {
  world_.Set("ATTUNE_DEVICE", "cpu");
  // Closer than sums in another order can be.
  Set({{"NUMERICAL_CHECK", "1e-30_1e-30"}});

  attune_options options = ATTUNE_OPTIONS_INIT;
  options.policy = ATTUNE_DEFERRED;
  // All have to be tried.
  options.per_problem_ms = 5000;
  const RuntimeHandle runtime = MakeRuntime(options);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  std::ofstream(untuned_file()) << "GemmTunableOp_float_NN,nn_64_64_512_ld_64_512_64\n";
  ASSERT_EQ(attune_tunable_tune_in_file(runtime.get(), untuned_file().c_str(), nullptr), ATTUNE_OK)
      << attune_last_message();

  std::vector<std::string> messages;
  size_t timed = 0;
  for (const Trial& trial : Trials()) {
    timed += trial.measurement() != nullptr ? 1 : 0;
    const Failure* failure = trial.failure();
    if (failure != nullptr && failure->kind == FailureKind::kWrongResult) {
      messages.push_back(failure->message);
    }
  }
  EXPECT_FALSE(messages.empty());
  EXPECT_THAT(messages, Each(HasSubstr("within atol 1e-30 and rtol 1e-30")));
  EXPECT_GT(timed, 0u);
}

TEST_F(TunableRuntime, WhoeverAgreesWithTheDefaultIsNotHeldBack) {
  Set({{"NUMERICAL_CHECK", "1e-2_1e-1"}});

  TuneInline(16);

  for (const Trial& trial : Trials()) EXPECT_EQ(trial.failure(), nullptr);
  EXPECT_THAT(SolversOf(Trials()), Contains("fake.tiled"));
}

TEST_F(TunableRuntime, AMissUnderDynamicDimensionsAddsAWildcardThatServesOtherSizes) {
  Set({{"WILDCARD_FALLBACK", "1"}});
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  constexpr unsigned kAll = ATTUNE_DYNAMIC_M | ATTUNE_DYNAMIC_N | ATTUNE_DYNAMIC_K;

  ASSERT_EQ(attune_tunable_push_dynamic_dims(kAll), ATTUNE_OK);
  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
  ASSERT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);
  ASSERT_TRUE(Multiply(runtime.get(), 48)) << attune_last_message();

  EXPECT_THAT(KeysIn(Results()), Contains("GemmTunableOp_float_NN,nn_*_*_*_ld_*_*_*"));
  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  EXPECT_EQ(TunableCountersOf(runtime.get()).hits_by_wildcard, 1);
}

TEST_F(TunableRuntime, AHitUnderDynamicDimensionsAddsTheWildcardOnce) {
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  const size_t keys_before = KeysIn(Results()).size();

  ASSERT_EQ(attune_tunable_push_dynamic_dims(ATTUNE_DYNAMIC_N), ATTUNE_OK);
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  const std::string once = Results();
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);

  EXPECT_EQ(keys_before, 1u);
  EXPECT_THAT(KeysIn(once), Contains("GemmTunableOp_float_NN,nn_16_*_16_ld_16_16_16"));
  EXPECT_EQ(Results(), once);
}

TEST_F(TunableRuntime, ABoundPlanUnderDynamicDimensionsAddsWildcardsWhenItIsMadeAndWhenItRuns) {
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = 16;
  const std::vector<float> ones(256, 1);
  std::vector<float> c(256);
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = arguments.b = ones.data();
  arguments.c = c.data();
  attune_plan* made = nullptr;

  ASSERT_EQ(attune_tunable_push_dynamic_dims(ATTUNE_DYNAMIC_N), ATTUNE_OK);
  ASSERT_EQ(attune_plan_gemm(runtime.get(), &gemm, 1, 0, ATTUNE_NO_LIMIT, &made), ATTUNE_OK)
      << attune_last_message();
  const std::unique_ptr<attune_plan, decltype(&attune_plan_release)> plan(made,
                                                                          attune_plan_release);
  ASSERT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);
  EXPECT_THAT(KeysIn(Results()), Contains("GemmTunableOp_float_NN,nn_16_*_16_ld_16_16_16"));

  ASSERT_EQ(attune_tunable_push_dynamic_dims(ATTUNE_DYNAMIC_K), ATTUNE_OK);
  ASSERT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_OK) << attune_last_message();
  ASSERT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);
  EXPECT_THAT(KeysIn(Results()), Contains("GemmTunableOp_float_NN,nn_16_16_*_ld_16_*_16"));
}

TEST_F(TunableRuntime, TheEndOfARunTimeWritesTheFileIfItWasAskedTo) {
  {
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
    ASSERT_NE(runtime, nullptr) << attune_last_message();
    ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
    ASSERT_EQ(attune_tunable_write_file_on_exit(runtime.get(), 1), ATTUNE_OK);
    ASSERT_EQ(std::remove((world_.folder() / "results0.csv").c_str()), 0);
  }

  EXPECT_EQ(KeysIn(Results()).size(), 1u) << Results();
}

TEST_F(TunableRuntime, ACheckThatCannotBeReadIsNoRunTime) {
  Set({{"NUMERICAL_CHECK", "1"}});

  EXPECT_EQ(MakeRuntime(ATTUNE_DEFERRED), nullptr);
  EXPECT_THAT(attune_last_message(), HasSubstr("NUMERICAL_CHECK"));
}

TEST_F(TunableRuntime, APipeInThePlaceOfTheResultsIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((world_.folder() / "results0.csv").c_str(), 0600), 0);

  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);

  ASSERT_NE(runtime, nullptr) << attune_last_message();
  EXPECT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
}

}  // namespace
}  // namespace attune
