// The C++ interface, as programs use it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/attune.hpp"
#include "attune/tunable.hpp"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::Options NeverTuning() {
  v1::Options options;
  options.policy = ATTUNE_NEVER;
  return options;
}

TEST(CppInterface, ProblemsAreExplainedAndAskedForAsValues) {
  RuntimeWorld world;
  world.Set("ATTUNE_DEVICE", "cpu");
  const v1::Runtime runtime(NeverTuning());
  const v1::GemmProblem gemm{.m = 48, .n = 32, .k = 16, .trans_a = true};
  const v1::ConvProblem conv{
      .in_channels = 4, .out_channels = 4, .in = {1, 9, 9}, .filter = {1, 3, 3}};

  EXPECT_EQ(runtime.Explain(gemm, 2, 1), runtime.Explain(v1::Runtime::TextOf(gemm, 2, 1)));
  EXPECT_THAT(runtime.Explain(gemm, 2, 1), HasSubstr("\"problem\": \"gemm@1{m=48,n=32,k=16"));
  EXPECT_THAT(runtime.Explain(conv), HasSubstr("\"problem\": \"conv@1{"));
  EXPECT_THAT(runtime.WouldStall(gemm), IsEmpty());
  EXPECT_THAT(runtime.WouldStall(conv), IsEmpty());
  EXPECT_NO_THROW(runtime.Synchronize());
}

TEST(CppInterface, QuestionsTakeALimitOfTheWorkspace) {
  RuntimeWorld world;
  world.Set("ATTUNE_DEVICE", "cpu");
  const v1::Runtime runtime(NeverTuning());
  const v1::ConvProblem conv{
      .in_channels = 8, .out_channels = 8, .in = {1, 24, 24}, .filter = {1, 3, 3}};

  EXPECT_LT(runtime.Solutions(conv, 0).size(), runtime.Solutions(conv).size());
  EXPECT_THAT(runtime.WouldStall(conv, 0), IsEmpty());
  EXPECT_THAT(runtime.Explain(conv, 0), Not(HasSubstr("host.im2col-openblas")));
}

// A product of ones through the C++ interface.
void MultiplyOnce(const v1::Runtime& runtime, int64_t size) {
  const std::vector<float> ones(static_cast<size_t>(size * size), 1.0F);
  std::vector<float> product(ones.size());
  runtime.Run(v1::GemmProblem{.m = size, .n = size, .k = size},
              v1::Arguments{.a = ones.data(), .b = ones.data(), .c = product.data()});
  EXPECT_EQ(product, std::vector<float>(ones.size(), static_cast<float>(size)));
}

// The background of a runtime calls its listeners until it ends.
TEST(CppInterface, ARunTimeThatIsReplacedEndsBeforeItsListeners) {
  RuntimeWorld world;
  const std::filesystem::path results = world.folder() / "results.csv";
  bool has_ended_first = false;
  // Goes with the last copy of the listener.
  std::shared_ptr<int> token(new int(0), [&](int* value) {
    has_ended_first = std::filesystem::exists(results);
    delete value;
  });
  v1::Runtime runtime(NeverTuning());
  const Tunable tunable(runtime);
  tunable.Enable(true);
  tunable.SetFilename(results.string());
  tunable.WriteFileOnExit(true);
  int misses = 0;
  runtime.SetListener(
      [&misses, token](attune_event, const auto&, const auto&, const auto&) { ++misses; });
  token = nullptr;
  MultiplyOnce(runtime, 16);

  runtime = v1::Runtime(NeverTuning());

  EXPECT_TRUE(has_ended_first);
  MultiplyOnce(runtime, 16);
  EXPECT_EQ(misses, 1);
}

TEST(CppInterface, WhatAListenerThrowsFailsNoCall) {
  RuntimeWorld world;
  v1::Runtime runtime(NeverTuning());
  runtime.SetListener([](attune_event, const auto&, const auto&, const auto&) {
    throw std::runtime_error("not for you");
  });

  EXPECT_NO_THROW(MultiplyOnce(runtime, 16));
}

TEST(CppInterface, SwitchesAreSetAndRead) {
  RuntimeWorld world;
  const v1::Runtime runtime(NeverTuning());
  const Tunable tunable(runtime);

  tunable.Enable(true);
  tunable.EnableTuning(false);
  tunable.EnableRecordUntuned(true);
  tunable.EnableWildcardFallback(true);
  tunable.EnableIcacheFlush(false);
  tunable.EnableLibrary("tiled", false);
  tunable.SetMaxTuningDuration(std::chrono::milliseconds(11));
  tunable.SetMaxTuningIterations(12);
  tunable.SetMaxWarmupDuration(std::chrono::milliseconds(13));
  tunable.SetMaxWarmupIterations(14);
  tunable.SetRequestedAlgoCount(15);
  tunable.SetRotatingBufferSize(1);
  tunable.SetMeasurementMode("kernel_profile");
  tunable.SetNumericalCheck(Tolerances{0.5, 0.25});
  tunable.SetFilename("a.csv");
  tunable.SetUntunedFilename("b.csv");

  EXPECT_TRUE(tunable.is_enabled());
  EXPECT_FALSE(tunable.is_tuning_enabled());
  EXPECT_TRUE(tunable.is_record_untuned_enabled());
  EXPECT_TRUE(tunable.is_wildcard_fallback_enabled());
  EXPECT_FALSE(tunable.is_icache_flush_enabled());
  EXPECT_FALSE(tunable.is_library_enabled("tiled"));
  EXPECT_EQ(tunable.max_tuning_duration(), std::chrono::milliseconds(11));
  EXPECT_EQ(tunable.max_tuning_iterations(), 12);
  EXPECT_EQ(tunable.max_warmup_duration(), std::chrono::milliseconds(13));
  EXPECT_EQ(tunable.max_warmup_iterations(), 14);
  EXPECT_EQ(tunable.requested_algo_count(), 15);
  EXPECT_EQ(tunable.rotating_buffer_size_bytes(), 1 << 20);
  EXPECT_EQ(tunable.measurement_mode(), "kernel_profile");
  ASSERT_TRUE(tunable.numerical_check().has_value());
  EXPECT_EQ(tunable.numerical_check()->rtol, 0.25);
  EXPECT_EQ(tunable.filename(), "a.csv");
  EXPECT_EQ(tunable.untuned_filename(), "b0.csv");
  tunable.SetNumericalCheck(std::nullopt);
  EXPECT_FALSE(tunable.numerical_check().has_value());
}

TEST(CppInterface, ASwitchThatTheEnvironmentDecidedThrows) {
  RuntimeWorld world;
  world.Set("ATTUNE_TUNABLE_ENABLED", "1");
  const v1::Runtime runtime(NeverTuning());

  try {
    Tunable(runtime).Enable(false);
    FAIL() << "It was taken back.";
  } catch (const v1::Error& error) {
    EXPECT_EQ(error.code(), ATTUNE_FAILED_PRECONDITION);
  }
}

TEST(CppInterface, ResultsThatWereTakenFromOneRunTimeServeInAnother) {
  RuntimeWorld world;
  const std::string line = "GemmTunableOp_float_NN,nn_16_16_16,fake.reference@1{}\n";
  const v1::Runtime first(NeverTuning());
  const Tunable source(first);
  source.Enable(true);
  source.SetFilename((world.folder() / "results.csv").string());
  std::ofstream(world.folder() / "given.csv") << line;
  source.ReadFile((world.folder() / "given.csv").string());
  const v1::Runtime second(NeverTuning());
  const Tunable sink(second);
  sink.Enable(true);
  sink.SetFilename((world.folder() / "elsewhere.csv").string());

  const TuningResults results = source.GetTuningResults();
  const TunableLoad loaded = sink.LoadTuningResults(results);
  const TunableLoad again = sink.LoadTuningResults(results);

  EXPECT_THAT(results.validators, HasSubstr("Validator,ATTUNE_TARGET,"));
  EXPECT_EQ(loaded.accepted, 1);
  EXPECT_EQ(loaded.duplicates, 0);
  EXPECT_EQ(again.duplicates, 1);
  EXPECT_EQ(sink.GetTuningResults().results, results.results);
  EXPECT_FALSE(std::filesystem::exists(world.folder() / "elsewhere.csv"));
  TuningResults foreign = results;
  foreign.validators = "Validator,ATTUNE_TARGET,another machine\n";
  sink.Clear();
  EXPECT_EQ(sink.LoadTuningResults(foreign).rejected, 1);
}

TEST(CppInterface, WhatWasRecordedIsTunedOffLine) {
  RuntimeWorld world;
  const v1::Runtime runtime;
  const Tunable tunable(runtime);
  tunable.Enable(true);
  tunable.SetFilename((world.folder() / "results.csv").string());
  std::ofstream(world.folder() / "untuned.csv") << "GemmTunableOp_float_NN,nn_16_16_16\n";

  const TunableOffline report = tunable.TuneInFile((world.folder() / "untuned.csv").string());

  EXPECT_EQ(report.tuned, 1) << attune_last_message();
  EXPECT_EQ(tunable.Counters().tuned, 1);
  EXPECT_THAT(tunable.GetTuningResults().results, HasSubstr("nn_16_16_16"));
}

TEST(CppInterface, UntunedFilesAreTunedOnDevicesOfTheirOwn) {
  RuntimeWorld world;
  world.Set("ATTUNE_TUNABLE_FILENAME", (world.folder() / "results.csv").string());
  std::ofstream(world.folder() / "untuned.csv") << "GemmTunableOp_float_NN,nn_16_16_16\n";
  const std::string pattern = (world.folder() / "untuned*.csv").string();

  const TunableOffline report = Tunable::TuneOnDevices("fake", 1, pattern);

  EXPECT_EQ(report.tuned, 1) << attune_last_message();
  EXPECT_TRUE(std::filesystem::exists(world.folder() / "results_full0.csv"));
  EXPECT_THROW(Tunable::TuneOnDevices("fake", 2, pattern), v1::Error);
}

TEST(CppInterface, DynamicDimensionsLastAsLongAsTheirScope) {
  { const DynamicDimsScope scope(ATTUNE_DYNAMIC_M); }

  EXPECT_EQ(attune_tunable_pop_dynamic_dims(), ATTUNE_FAILED_PRECONDITION);
}

}  // namespace
}  // namespace attune
