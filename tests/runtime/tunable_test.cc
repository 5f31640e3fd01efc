// The switches of TunableOp's kind on libattune.so: what they ask for is what the database shows.
#include "attune/tunable.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/tunable/untuned_file.h"
#include "storage/sql/sql_store.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

using Variables = std::map<std::string, std::string>;

// A world with the tunable layer switched on and its files in the world's folder.
class TunableRuntime : public testing::Test {
 protected:
  TunableRuntime() {
    Set({{"ENABLED", "1"},
         {"ROTATING_BUFFER_SIZE", "0"},
         {"FILENAME", results_path()},
         {"UNTUNED_FILENAME", (world_.folder() / "untuned.csv").string()}});
  }

  void Set(const Variables& variables) {
    for (const auto& [name, value] : variables) {
      world_.Set(("ATTUNE_TUNABLE_" + name).c_str(), value);
    }
  }

  // The environment's names take the ordinal of the device.
  std::string results_path() const { return (world_.folder() / "results.csv").string(); }
  std::string Results() const { return Content("results0.csv"); }
  std::string Untuned() const { return Content("untuned0.csv"); }
  std::string untuned_file() const { return (world_.folder() / "untuned0.csv").string(); }

  std::vector<RecordedSet> Sets() const {
    std::vector<RecordedSet> sets;
    const auto store = OpenSqlStore(world_.database());
    EXPECT_TRUE(store.ok()) << store.status().message();
    if (!store.ok()) return sets;
    EXPECT_TRUE((*store)
                    ->Visit({},
                            [&](const RecordedSet& set) {
                              sets.push_back(set);
                              return Status::Ok();
                            })
                    .ok());
    return sets;
  }

  std::vector<Trial> Trials() const {
    std::vector<Trial> trials;
    for (const RecordedSet& set : Sets()) {
      for (const Record& record : set.records) trials.push_back(record.trial);
    }
    EXPECT_FALSE(trials.empty());
    return trials;
  }

  // Tunes a product of this size before it is computed.
  void TuneInline(int64_t size) {
    EventLog log;
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
    ASSERT_NE(runtime, nullptr) << attune_last_message();
    log.Listen(runtime.get());
    ASSERT_TRUE(Multiply(runtime.get(), size)) << attune_last_message();
    ASSERT_EQ(CountersOf(runtime.get()).tunings, 1u) << log.Message(ATTUNE_EVENT_TUNING_FAILED);
  }

  RuntimeWorld world_;

 private:
  std::string Content(const char* name) const {
    const auto content = ReadFile(world_.folder() / name);
    return content.ok() ? *content : "";
  }
};

attune_tunable_counters TunableCountersOf(attune_runtime* runtime) {
  attune_tunable_counters counters = ATTUNE_TUNABLE_COUNTERS_INIT;
  EXPECT_EQ(attune_tunable_get_counters(runtime, &counters), ATTUNE_OK);
  return counters;
}

std::set<std::string> SolversOf(const std::vector<Trial>& trials) {
  std::set<std::string> solvers;
  for (const Trial& trial : trials) solvers.insert(trial.candidate.solver.name);
  return solvers;
}

// The first two columns of every line that is no validator.
std::set<std::string> KeysIn(const std::string& content) {
  std::set<std::string> keys;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string line = content.substr(begin, end - begin);
    const size_t comma = line.find(',');
    if (!line.starts_with("Validator,") && comma != std::string::npos) {
      keys.insert(line.substr(0, line.find(',', comma + 1)));
    }
    begin = end + 1;
  }
  return keys;
}

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
  EXPECT_GE(counters.hits_by_problem, 3);
  EXPECT_EQ(Sets().size(), sets);
  EXPECT_EQ(Results(), results);
  EXPECT_EQ(Untuned(), untuned);
}

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
  EXPECT_GE(TunableCountersOf(runtime.get()).hits_by_wildcard, 1);
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

TEST_F(TunableRuntime, AMissIsCountedOnce) {
  // Nothing looks at plans again behind the caller.
  world_.Set("ATTUNE_DETERMINISTIC", "1");
  Set({{"TUNING", "0"}});
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_EQ(attune_tunable_push_dynamic_dims(ATTUNE_DYNAMIC_M), ATTUNE_OK);
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_OK);

  EXPECT_EQ(TunableCountersOf(runtime.get()).misses, 1);
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
