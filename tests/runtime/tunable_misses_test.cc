// How the tunable layer handles and reports misses and results.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/runtime/tunable_world.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(TunableRuntime, WhatWasRecordedIsTunedOffLineAndServedWithTuningOff) {
  Set({{"TUNING", "0"}, {"RECORD_UNTUNED", "1"}});
  {
    const RuntimeHandle recording = MakeRuntime(ATTUNE_DEFERRED);
    ASSERT_NE(recording, nullptr) << attune_last_message();
    for (const int64_t size : {1, 16, 17, 16}) ASSERT_TRUE(Multiply(recording.get(), size));
    ASSERT_TRUE(IsIdle(recording.get()));
    EXPECT_EQ(TunableCountersOf(recording.get()).recorded, 3);
  }
  ASSERT_EQ(KeysIn(Untuned()).size(), 3u) << Untuned();
  Set({{"TUNING", "1"}, {"RECORD_UNTUNED", "0"}});
  {
    const RuntimeHandle tuning = MakeRuntime(ATTUNE_DEFERRED);
    ASSERT_NE(tuning, nullptr) << attune_last_message();
    attune_tunable_offline report = ATTUNE_TUNABLE_OFFLINE_INIT;
    ASSERT_EQ(attune_tunable_tune_in_file(tuning.get(), untuned_file().c_str(), &report), ATTUNE_OK)
        << attune_last_message();
    EXPECT_EQ(report.tuned, 3);
    EXPECT_EQ(report.failed, 0);
  }
  EXPECT_EQ(KeysIn(Results()), KeysIn(Untuned()));
  const size_t sets = Sets().size();
  const std::string results = Results();
  const std::string untuned = Untuned();
  Set({{"TUNING", "0"}, {"RECORD_UNTUNED", "1"}});

  const RuntimeHandle serving = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(serving, nullptr) << attune_last_message();
  for (const int64_t size : {1, 16, 17}) ASSERT_TRUE(Multiply(serving.get(), size));
  ASSERT_TRUE(IsIdle(serving.get()));

  const attune_tunable_counters counters = TunableCountersOf(serving.get());
  EXPECT_EQ(counters.misses, 0);
  EXPECT_EQ(counters.recorded, 0);
  EXPECT_EQ(counters.tuned, 0);
  EXPECT_EQ(counters.hits_by_problem, 3);
  EXPECT_EQ(Sets().size(), sets);
  EXPECT_EQ(Results(), results);
  EXPECT_EQ(Untuned(), untuned);
}

TEST_F(TunableRuntime, AMissIsRecordedWhateverThePolicyAndTheDatabase) {
  Set({{"TUNING", "0"}, {"RECORD_UNTUNED", "1"}});
  struct Case {
    attune_policy policy;
    bool has_database;
    const char* deterministic;
  };
  for (const Case& asked : {Case{ATTUNE_NEVER, true, "0"}, Case{ATTUNE_RECORD, true, "0"},
                            Case{ATTUNE_DEFERRED, false, "0"}, Case{ATTUNE_DEFERRED, true, "1"},
                            Case{ATTUNE_INLINE, true, "0"}}) {
    std::remove(untuned_file().c_str());
    world_.Set("ATTUNE_DB", asked.has_database ? world_.database() : "");
    world_.Set("ATTUNE_DETERMINISTIC", asked.deterministic);
    const RuntimeHandle runtime = MakeRuntime(asked.policy);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    for (const int64_t size : {16, 17, 16}) ASSERT_TRUE(Multiply(runtime.get(), size));

    // At once: no call waits for the background, and none has to.
    EXPECT_EQ(KeysIn(Untuned()).size(), 2u) << asked.policy;
    EXPECT_EQ(TunableCountersOf(runtime.get()).recorded, 2) << asked.policy;
    ASSERT_TRUE(IsIdle(runtime.get()));
    EXPECT_EQ(CountersOf(runtime.get()).tuning_failures, 0u) << asked.policy;
  }
}

TEST_F(TunableRuntime, WhatCannotBeRecordedIsSaidAndWrittenWhenItCanBe) {
  Set({{"TUNING", "0"},
       {"RECORD_UNTUNED", "1"},
       {"UNTUNED_FILENAME", (world_.folder() / "later" / "untuned.csv").string()}});
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
  EXPECT_NE(attune_wait_idle(runtime.get(), 1000), ATTUNE_OK);
  EXPECT_THAT(attune_last_message(), HasSubstr("later/untuned0.csv"));
  std::filesystem::create_directory(world_.folder() / "later");

  EXPECT_EQ(attune_wait_idle(runtime.get(), 1000), ATTUNE_OK) << attune_last_message();
  EXPECT_EQ(TunableCountersOf(runtime.get()).recorded, 1);
  EXPECT_TRUE(std::filesystem::exists(world_.folder() / "later" / "untuned0.csv"));
}

TEST_F(TunableRuntime, EachDeviceHasItsOwnFiles) {
  world_.Set("ATTUNE_FAKE_SCRIPT", "device count=2");
  Set({{"TUNING", "0"}, {"RECORD_UNTUNED", "1"}});
  const std::vector<std::string> devices = {"fake", "fake:1"};
  for (size_t i = 0; i < devices.size(); ++i) {
    world_.Set("ATTUNE_DEVICE", devices[i]);
    const RuntimeHandle recording = MakeRuntime(ATTUNE_NEVER);
    ASSERT_NE(recording, nullptr) << attune_last_message();
    ASSERT_TRUE(Multiply(recording.get(), 16 + static_cast<int64_t>(i)));
  }
  EXPECT_THAT(KeysIn(Content("untuned0.csv")), ElementsAre(HasSubstr("nn_16_16_16")));
  EXPECT_THAT(KeysIn(Content("untuned1.csv")), ElementsAre(HasSubstr("nn_17_17_17")));
  Set({{"TUNING", "1"}, {"RECORD_UNTUNED", "0"}});
  std::vector<RuntimeHandle> tuning;
  std::vector<attune_runtime*> runtimes;
  for (const std::string& device : devices) {
    world_.Set("ATTUNE_DEVICE", device);
    tuning.push_back(MakeRuntime(ATTUNE_DEFERRED));
    ASSERT_NE(tuning.back(), nullptr) << attune_last_message();
    runtimes.push_back(tuning.back().get());
  }

  const std::string pattern = (world_.folder() / "untuned?.csv").string();
  ASSERT_EQ(
      attune_tunable_tune_in_files(runtimes.data(), runtimes.size(), pattern.c_str(), nullptr),
      ATTUNE_OK)
      << attune_last_message();

  EXPECT_EQ(KeysIn(Content("results0.csv")).size(), 1u);
  EXPECT_EQ(KeysIn(Content("results1.csv")).size(), 1u);
  EXPECT_EQ(KeysIn(Content("results_full0.csv")).size(), 2u);
  EXPECT_EQ(KeysIn(Content("results_full1.csv")).size(), 2u);
}

TEST_F(TunableRuntime, AMissThatTheDatabaseKnowsGetsItsResultWithoutBeingMeasuredAgain) {
  Set({{"ENABLED", "0"}});
  TuneInline(16);
  ASSERT_EQ(Sets().size(), 1u);
  Set({{"ENABLED", "1"}});
  for (const attune_policy policy : {ATTUNE_DEFERRED, ATTUNE_INLINE}) {
    // Also after the file was taken away.
    std::remove((world_.folder() / "results0.csv").c_str());
    const RuntimeHandle runtime = MakeRuntime(policy);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    ASSERT_TRUE(Multiply(runtime.get(), 16));
    ASSERT_TRUE(IsIdle(runtime.get()));

    EXPECT_EQ(TunableCountersOf(runtime.get()).misses, 1) << policy;
    EXPECT_EQ(TunableCountersOf(runtime.get()).tuned, 1) << policy;
    EXPECT_EQ(KeysIn(Results()).size(), 1u) << policy;
    EXPECT_EQ(Sets().size(), 1u) << policy;
  }
}

TEST_F(TunableRuntime, AMissThatTheDatabaseKnowsIsRecorded) {
  Set({{"ENABLED", "0"}});
  TuneInline(16);
  Set({{"ENABLED", "1"}, {"TUNING", "0"}, {"RECORD_UNTUNED", "1"}});

  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));

  EXPECT_EQ(KeysIn(Untuned()).size(), 1u) << Untuned();
}

TEST_F(TunableRuntime, WhatIsForcedIsNeitherTunedNorRecorded) {
  world_.Set("ATTUNE_FORCE", "fake.tiled");
  for (const char* tuning : {"1", "0"}) {
    Set({{"TUNING", tuning}, {"RECORD_UNTUNED", "1"}});
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    ASSERT_TRUE(Multiply(runtime.get(), 16));
    ASSERT_TRUE(IsIdle(runtime.get()));

    EXPECT_EQ(CountersOf(runtime.get()).tunings, 0u);
  }
  EXPECT_EQ(Untuned(), "");
  EXPECT_EQ(Results(), "");
}

TEST_F(TunableRuntime, AMissIsCountedOnceWhateverLooksAtPlansAgain) {
  Set({{"TUNING", "0"}});
  for (const attune_policy policy : {ATTUNE_NEVER, ATTUNE_DEFERRED, ATTUNE_INLINE}) {
    const RuntimeHandle runtime = MakeRuntime(policy);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    ASSERT_EQ(attune_tunable_push_dynamic_dims(ATTUNE_DYNAMIC_M), ATTUNE_OK);
    ASSERT_TRUE(Multiply(runtime.get(), 16));
    ASSERT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);
    for (const int64_t size : {17, 18, 17}) ASSERT_TRUE(Multiply(runtime.get(), size));
    // A switch that changes has every plan looked at again.
    ASSERT_EQ(attune_tunable_wildcard_fallback_enable(runtime.get(), 1), ATTUNE_OK);
    ASSERT_TRUE(IsIdle(runtime.get()));

    EXPECT_EQ(TunableCountersOf(runtime.get()).misses, 3) << policy;
  }
}

TEST_F(TunableRuntime, AResultThatCannotServeIsNamedWhereverOneLooks) {
  const std::string key = "GemmTunableOp_float_NN,nn_16_16_16_ld_16_16_16";
  const std::string elsewhere =
      "Validator,ATTUNE_RESULTS,1\nValidator,ATTUNE_VERSION,0.1.0\n"
      "Validator,ATTUNE_TARGET,fake%3AAnother device%3Aarch%3A1%7B%7D\n";
  const std::map<std::string, std::string> contents = {
      {key + ",Gemm_Rocblas_123,0.5\n", "Gemm_Rocblas_123"},
      {elsewhere + key + ",fake.library,0.5\n", "Another device"}};
  for (const auto& [content, reason] : contents) {
    std::ofstream(world_.folder() / "results0.csv") << content;
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    ASSERT_TRUE(Multiply(runtime.get(), 16));

    const attune_counters counters = CountersOf(runtime.get());
    EXPECT_EQ(counters.skipped_records, 1u) << content;
    EXPECT_EQ(counters.by_reason[ATTUNE_MISS_STALE], 1u) << content;
    const Json explained = Explained(runtime.get());
    ASSERT_EQ(explained["skipped"].size(), 1u) << explained;
    EXPECT_THAT(explained["skipped"][0].get<std::string>(),
                AllOf(HasSubstr(key), HasSubstr(reason)));
  }
}

TEST_F(TunableRuntime, WhatAPersonWroteIsSaidToBeForcedAndWhatWasTimedIsSaidToBeMeasured) {
  const std::string key = "GemmTunableOp_float_NN,nn_16_16_16_ld_16_16_16";
  const std::map<std::string, std::pair<std::string, std::string>> lines = {
      {",Default\n", {"forced", "nobody has measured it"}},
      {",fake.library\n", {"forced", "nobody has measured it"}},
      {",fake.library,0.5\n", {"measured", "The result of " + key}}};
  for (const auto& [rest, expected] : lines) {
    std::ofstream(world_.folder() / "results0.csv") << key << rest;
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    const Json explained = Explained(runtime.get());
    const Json& first = explained["options"][0];

    EXPECT_EQ(first["provenance"], expected.first) << explained;
    EXPECT_THAT(first["because"].get<std::string>(), HasSubstr(expected.second));
    EXPECT_EQ(first["median_ns"].is_null(), expected.first == "forced") << explained;
    EXPECT_EQ(explained["skipped"].size(), 0u) << explained;
  }
}

TEST_F(TunableRuntime, AHitIsCountedOnceForEachShapeThatAResultServes) {
  std::ofstream(world_.folder() / "results0.csv")
      << "GemmTunableOp_float_NN,nn_16_16_16_ld_16_16_16,Default\n";
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(TunableCountersOf(runtime.get()).hits_by_key, 1);
  EXPECT_EQ(TunableCountersOf(runtime.get()).misses, 0);
}

}  // namespace
}  // namespace attune
