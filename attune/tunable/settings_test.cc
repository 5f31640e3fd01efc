#include "attune/tunable/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::HasSubstr;

TunableSwitches Read(const ProcessVariables& variables) {
  auto switches = TunableSwitches::FromEnvironment(variables);
  EXPECT_TRUE(switches.ok()) << switches.status().message();
  return switches.ok() ? *switches : TunableSwitches();
}

struct ActionRow {
  bool enabled;
  bool tuning;
  bool record_untuned;
  TunableActions actions;
};

class TunableActionsTest : public testing::TestWithParam<ActionRow> {};

TEST_P(TunableActionsTest, RowOfTheTable) {
  const ActionRow row = GetParam();
  TunableSettings settings;
  settings.enabled = row.enabled;
  settings.tuning = row.tuning;
  settings.record_untuned = row.record_untuned;

  EXPECT_EQ(ActionsOf(settings), row.actions);
}

INSTANTIATE_TEST_SUITE_P(All, TunableActionsTest,
                         testing::Values(ActionRow{false, false, false, {false, false, false}},
                                         ActionRow{false, false, true, {false, false, false}},
                                         ActionRow{false, true, false, {false, false, false}},
                                         ActionRow{false, true, true, {false, false, false}},
                                         ActionRow{true, false, false, {true, false, false}},
                                         ActionRow{true, false, true, {true, false, true}},
                                         ActionRow{true, true, false, {true, true, false}},
                                         ActionRow{true, true, true, {true, true, false}}));

TEST(TunableSettingsTest, DefaultsAreThoseOfTunableOpButForNamesAndTheAlgorithmsAskedFor) {
  const TunableSettings settings = Read({}).settings();

  EXPECT_FALSE(settings.enabled);
  EXPECT_TRUE(settings.tuning);
  EXPECT_FALSE(settings.record_untuned);
  EXPECT_EQ(settings.requested_algo_count, 0);
  EXPECT_EQ(settings.max_tuning_duration_ms, 30);
  EXPECT_EQ(settings.max_tuning_iterations, 100);
  EXPECT_EQ(settings.max_warmup_duration_ms, 0);
  EXPECT_EQ(settings.max_warmup_iterations, 0);
  EXPECT_FALSE(settings.rotating_buffer_bytes.has_value());
  EXPECT_FALSE(settings.numerical_check.enabled);
  EXPECT_TRUE(settings.icache_flush);
}

TEST(TunableSettingsTest, EveryVariableOfTheTableIsRead) {
  const TunableSwitches switches =
      Read({{"ATTUNE_TUNABLE_ENABLED", "1"},
            {"ATTUNE_TUNABLE_TUNING", "0"},
            {"ATTUNE_TUNABLE_RECORD_UNTUNED", "1"},
            {"ATTUNE_TUNABLE_VERBOSE", "3"},
            {"ATTUNE_TUNABLE_VERBOSE_FILENAME", "log.txt"},
            {"ATTUNE_TUNABLE_FILENAME", "r.csv"},
            {"ATTUNE_TUNABLE_UNTUNED_FILENAME", "u.csv"},
            {"ATTUNE_TUNABLE_NUMERICAL_CHECK", "1e-2_1e-1"},
            {"ATTUNE_TUNABLE_OPENBLAS_ENABLED", "0"},
            {"ATTUNE_TUNABLE_ONEDNN_ENABLED", "1"},
            {"ATTUNE_TUNABLE_REQUESTED_ALGO_COUNT", "5"},
            {"ATTUNE_TUNABLE_MAX_TUNING_DURATION_MS", "7"},
            {"ATTUNE_TUNABLE_MAX_TUNING_ITERATIONS", "8"},
            {"ATTUNE_TUNABLE_MAX_WARMUP_DURATION_MS", "9"},
            {"ATTUNE_TUNABLE_MAX_WARMUP_ITERATIONS", "10"},
            {"ATTUNE_TUNABLE_ICACHE_FLUSH_ENABLED", "0"},
            {"ATTUNE_TUNABLE_ROTATING_BUFFER_SIZE", "2"},
            {"ATTUNE_TUNABLE_BLAS_LOG", "1"},
            {"ATTUNE_TUNABLE_WILDCARD_FALLBACK", "1"},
            {"ATTUNE_TUNABLE_TUNING_MEASUREMENT_MODE", "kernel_profile"},
            {"HOME", "/root"}});

  TunableSettings expected;
  expected.enabled = true;
  expected.tuning = false;
  expected.record_untuned = true;
  expected.verbose = 3;
  expected.verbose_filename = "log.txt";
  expected.filename = "r.csv";
  expected.untuned_filename = "u.csv";
  expected.numerical_check = {true, 1e-2, 1e-1};
  expected.disabled_libraries = {"openblas"};
  expected.requested_algo_count = 5;
  expected.max_tuning_duration_ms = 7;
  expected.max_tuning_iterations = 8;
  expected.max_warmup_duration_ms = 9;
  expected.max_warmup_iterations = 10;
  expected.icache_flush = false;
  expected.rotating_buffer_bytes = 2 << 20;
  expected.blas_log = true;
  expected.wildcard_fallback = true;
  expected.measurement_mode = MeasurementMode::kKernelProfile;
  EXPECT_EQ(switches.settings(), expected);
  EXPECT_TRUE(switches.warnings().empty());
}

TEST(TunableSettingsTest, TheEnvironmentBindsThreeSwitchesInOneDirectionOnly) {
  TunableSwitches bound = Read({{"ATTUNE_TUNABLE_ENABLED", "1"},
                                {"ATTUNE_TUNABLE_TUNING", "0"},
                                {"ATTUNE_TUNABLE_RECORD_UNTUNED", "1"}});
  TunableSwitches free = Read({{"ATTUNE_TUNABLE_ENABLED", "0"},
                               {"ATTUNE_TUNABLE_TUNING", "1"},
                               {"ATTUNE_TUNABLE_RECORD_UNTUNED", "0"}});

  EXPECT_EQ(bound.Set(TunableVariable::kEnabled, "0").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(bound.Set(TunableVariable::kTuning, "1").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(bound.Set(TunableVariable::kRecordUntuned, "0").code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(bound.Set(TunableVariable::kEnabled, "1").ok());
  EXPECT_TRUE(bound.settings().enabled && !bound.settings().tuning);
  EXPECT_TRUE(free.Set(TunableVariable::kEnabled, "1").ok());
  EXPECT_TRUE(free.Set(TunableVariable::kTuning, "0").ok());
  EXPECT_TRUE(free.Set(TunableVariable::kRecordUntuned, "1").ok());
  EXPECT_TRUE(free.settings().enabled && !free.settings().tuning && free.settings().record_untuned);
}

TEST(TunableSettingsTest, TheEnvironmentBeatsTheApiForValues) {
  TunableSwitches switches = Read({{"ATTUNE_TUNABLE_MAX_TUNING_ITERATIONS", "3"},
                                   {"ATTUNE_TUNABLE_FILENAME", "mine.csv"},
                                   {"ATTUNE_TUNABLE_NUMERICAL_CHECK", "0"}});

  EXPECT_EQ(switches.Set(TunableVariable::kMaxTuningIterations, "9").code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(switches.SetFilename("other.csv", false).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(switches.SetNumericalCheck({true, 1, 1}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(switches.settings().max_tuning_iterations, 3);
  EXPECT_EQ(switches.settings().filename, "mine.csv");
  EXPECT_TRUE(switches.Set(TunableVariable::kMaxTuningDurationMs, "9").ok());
}

TEST(TunableSettingsTest, TheEnvironmentBeatsTheApiForLibraries) {
  TunableSwitches switches =
      Read({{"ATTUNE_TUNABLE_OPENBLAS_ENABLED", "0"}, {"ATTUNE_TUNABLE_CONV_DIRECT_ENABLED", "1"}});

  const Status on = switches.SetLibraryEnabled("openblas", true);
  EXPECT_EQ(on.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(on.message(), HasSubstr("ATTUNE_TUNABLE_OPENBLAS_ENABLED"));
  EXPECT_EQ(switches.SetLibraryEnabled("conv-direct", false).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(switches.SetLibraryEnabled("openblas", false).ok());
  EXPECT_TRUE(switches.SetLibraryEnabled("blis", false).ok());

  EXPECT_EQ(switches.settings().disabled_libraries, (std::set<std::string>{"blis", "openblas"}));
  EXPECT_EQ(switches.decided_libraries(), (std::set<std::string>{"conv-direct", "openblas"}));
}

TEST(TunableSettingsTest, WhatCannotBeReadIsAWarningAndTheDefault) {
  const TunableSwitches switches = Read({{"ATTUNE_TUNABLE_MAX_TUNING_ITERATIONS", "many"},
                                         {"ATTUNE_TUNABLE_ENABLED", "yes"},
                                         {"ATTUNE_TUNABLE_REQUESTED_ALGO_COUNT", ""},
                                         {"ATTUNE_TUNABLE_ENABELD", "1"}});

  EXPECT_EQ(switches.settings(), TunableSettings());
  ASSERT_EQ(switches.warnings().size(), 4u);
  EXPECT_THAT(switches.warnings()[0], HasSubstr("ENABELD"));
  EXPECT_THAT(switches.warnings()[1], HasSubstr("takes 0 or 1, found"));
}

TEST(TunableSettingsTest, ACheckThatCannotBeReadIsAnErrorNotASilentOff) {
  const auto old_form = TunableSwitches::FromEnvironment({{"ATTUNE_TUNABLE_NUMERICAL_CHECK", "1"}});
  const auto mode =
      TunableSwitches::FromEnvironment({{"ATTUNE_TUNABLE_TUNING_MEASUREMENT_MODE", "stopwatch"}});

  ASSERT_FALSE(old_form.ok());
  EXPECT_THAT(old_form.error().message(), HasSubstr("1e-2_1e-1"));
  ASSERT_FALSE(mode.ok());
  EXPECT_EQ(mode.error().code(), StatusCode::kInvalidArgument);
}

TEST(TunableSettingsTest, NegativeLimitsAreOffAndCountsAreAtLeastOne) {
  TunableSwitches switches;

  EXPECT_TRUE(switches.Set(TunableVariable::kMaxTuningDurationMs, "-5").ok());
  EXPECT_TRUE(switches.Set(TunableVariable::kRotatingBufferSize, "-1").ok());

  EXPECT_EQ(switches.settings().max_tuning_duration_ms, 0);
  EXPECT_FALSE(switches.settings().rotating_buffer_bytes.has_value());
}

TEST(TunableSettingsTest, IterationsKeepBothLimits) {
  TunableSettings settings;

  EXPECT_EQ(TimedIterations(settings, 0.01), 100);
  EXPECT_EQ(TimedIterations(settings, 3), 10);
  EXPECT_EQ(TimedIterations(settings, 300), 1);
  settings.max_tuning_iterations = 0;
  EXPECT_EQ(TimedIterations(settings, 0.01), 3000);
  EXPECT_EQ(WarmupIterations(settings, 1), 0);
  settings.max_warmup_iterations = 4;
  settings.max_warmup_duration_ms = 2;
  EXPECT_EQ(WarmupIterations(settings, 1), 2);
}

TEST(TunableSettingsTest, AnUnsetRotatingBufferIsAsLargeAsTheCacheAndZeroIsOff) {
  TunableSettings settings;

  EXPECT_EQ(RotatingBudgetBytes(settings, 1000), 1000);
  settings.rotating_buffer_bytes = 0;
  EXPECT_EQ(RotatingBudgetBytes(settings, 1000), 0);
  settings.rotating_buffer_bytes = 1 << 20;
  EXPECT_EQ(RotatingBudgetBytes(settings, 1000), 1 << 20);
}

}  // namespace
}  // namespace attune
