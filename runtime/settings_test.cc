#include "runtime/settings.h"

#include <cstddef>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string MessageOf(const Result<RuntimeOptions>& options) {
  return options.ok() ? "no failure" : options.error().message();
}

TEST(Settings, NothingSaidServesOnTheProcessorAndTunesBehind) {
  const auto options = ReadSettings(nullptr, {{"ATTUNE_DB", "/tmp/x.db"}});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->device, "cpu");
  EXPECT_EQ(options->database, "/tmp/x.db");
  EXPECT_EQ(options->server.policy, MissPolicy::kDeferred);
  EXPECT_EQ(options->scope, Scope::kAll);
  EXPECT_FALSE(options->server.deterministic);
  EXPECT_EQ(options->record_tag, "recorded");
}

TEST(Settings, TheEnvironmentFillsWhatTheProgramLeavesOpen) {
  const auto options = ReadSettings(nullptr, {{"ATTUNE_DEVICE", "opencl:0"},
                                              {"ATTUNE_DB", "/tmp/x.db"},
                                              {"ATTUNE_PACKAGES", "/a::/b"},
                                              {"ATTUNE_POLICY", "record"},
                                              {"ATTUNE_RECORD_TAG", "mine"},
                                              {"ATTUNE_FORCE", "host.blis-gemm"},
                                              {"ATTUNE_DETERMINISTIC", "1"}});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->device, "opencl:0");
  EXPECT_THAT(options->packages,
              ElementsAre(PackageReference{"/a", ""}, PackageReference{"/b", ""}));
  EXPECT_EQ(options->server.policy, MissPolicy::kRecord);
  EXPECT_EQ(options->record_tag, "mine");
  EXPECT_EQ(options->force, "host.blis-gemm");
  EXPECT_TRUE(options->server.deterministic);
}

TEST(Settings, TheVariablesOfABlasBindTheThreadsOfCandidates) {
  const auto options = ReadSettings(nullptr, {{"OPENBLAS_NUM_THREADS", "1"}});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->max_threads, 1);
}

TEST(Settings, ACallerThatComputesItselfIsYieldedTo) {
  attune_options said = ATTUNE_OPTIONS_INIT;
  EXPECT_FALSE(ReadSettings(&said, {})->yields);
  said.yields = 1;
  EXPECT_TRUE(ReadSettings(&said, {})->yields);
}

TEST(Settings, WhatTheProgramSaysGoesBeforeTheEnvironment) {
  attune_options said = ATTUNE_OPTIONS_INIT;
  said.device = "cpu";
  said.database = "";
  said.policy = ATTUNE_NEVER;
  const auto options = ReadSettings(
      &said,
      {{"ATTUNE_DEVICE", "opencl:0"}, {"ATTUNE_DB", "/tmp/x.db"}, {"ATTUNE_POLICY", "inline"}});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->device, "cpu");
  EXPECT_EQ(options->database, "");
  EXPECT_EQ(options->server.policy, MissPolicy::kNever);
}

TEST(Settings, ModelsOfTimeAreListedByColonsAndAnEmptyListIsNone) {
  EXPECT_EQ(ReadSettings(nullptr, {{"ATTUNE_DB", ""}})->time_models, std::nullopt);
  EXPECT_THAT(*ReadSettings(nullptr, {{"ATTUNE_TIME_MODELS", ""}})->time_models,
              ::testing::IsEmpty());
  EXPECT_THAT(*ReadSettings(nullptr, {{"ATTUNE_TIME_MODELS", "/a.model::/b c.model"}})->time_models,
              ::testing::ElementsAre("/a.model", "/b c.model"));
}

TEST(Settings, APresetSetsPolicyAndScopeAndAPolicyChangesItAgain) {
  attune_options said = ATTUNE_OPTIONS_INIT;
  said.database = "";
  said.preset = "Dynamic_Hybrid";
  auto options = ReadSettings(&said, {});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->server.policy, MissPolicy::kInline);
  EXPECT_EQ(options->scope, Scope::kDynamic);

  said.policy = ATTUNE_RECORD;
  options = ReadSettings(&said, {});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->server.policy, MissPolicy::kRecord);
  EXPECT_EQ(options->scope, Scope::kDynamic);
}

TEST(Settings, AScopeBesideAPresetWinsWhicheverItIs) {
  attune_options said = ATTUNE_OPTIONS_INIT;
  said.database = "";
  said.preset = "dynamic_hybrid";
  const std::pair<attune_scope, Scope> scopes[] = {{ATTUNE_SCOPE_DEFAULT, Scope::kDynamic},
                                                   {ATTUNE_SCOPE_ALL, Scope::kAll},
                                                   {ATTUNE_SCOPE_LOADED, Scope::kLoaded}};
  for (const auto& [scope, expected] : scopes) {
    said.scope = scope;
    const auto options = ReadSettings(&said, {});
    ASSERT_TRUE(options.ok()) << MessageOf(options);
    EXPECT_EQ(options->scope, expected) << scope;
    EXPECT_EQ(options->server.policy, MissPolicy::kInline);
  }
  said.preset = nullptr;
  said.scope = ATTUNE_SCOPE_DEFAULT;
  EXPECT_EQ(ReadSettings(&said, {})->scope, Scope::kAll);
  said.scope = static_cast<attune_scope>(ATTUNE_SCOPE_ALL + 1);
  EXPECT_THAT(MessageOf(ReadSettings(&said, {})), HasSubstr("Field 'scope' is 4"));
}

TEST(Settings, APresetOfTheProgramGoesBeforeAPolicyOfTheEnvironment) {
  attune_options said = ATTUNE_OPTIONS_INIT;
  said.database = "";
  said.preset = "fast";
  auto options = ReadSettings(&said, {{"ATTUNE_POLICY", "inline"}, {"ATTUNE_PRESET", "hybrid"}});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->server.policy, MissPolicy::kNever);

  // Without a preset in the struct the environment applies, where the policy wins.
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    said.preset = none;
    options = ReadSettings(&said, {{"ATTUNE_POLICY", "record"}, {"ATTUNE_PRESET", "fast"}});
    ASSERT_TRUE(options.ok()) << MessageOf(options);
    EXPECT_EQ(options->server.policy, MissPolicy::kRecord);
  }
}

TEST(Settings, AVariableThatNothingReadsIsNamedInTheNotes) {
  const auto options = ReadSettings(nullptr, {{"ATTUNE_DB", "/tmp/x.db"},
                                              {"ATTUNE_POLCY", "never"},
                                              {"ATTUNE_TUNABLE_ENABELD", "1"},
                                              {"ATTUNEMENT", "1"}});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_THAT(options->notes, ElementsAre(HasSubstr("variable ATTUNE_POLCY is ignored")));
}

TEST(Settings, MistakesNameTheFieldAndItsValue) {
  attune_options said = ATTUNE_OPTIONS_INIT;
  said.tuning_cpu_share = 2;
  EXPECT_THAT(MessageOf(ReadSettings(&said, {})), HasSubstr("'tuning_cpu_share' is 2"));

  said = ATTUNE_OPTIONS_INIT;
  said.max_plans = -3;
  EXPECT_THAT(MessageOf(ReadSettings(&said, {})), HasSubstr("'max_plans' (-3)"));

  said = ATTUNE_OPTIONS_INIT;
  said.preset = "quick";
  EXPECT_THAT(MessageOf(ReadSettings(&said, {})), HasSubstr("'quick'"));

  EXPECT_THAT(MessageOf(ReadSettings(nullptr, {{"ATTUNE_POLICY", "soon"}})),
              HasSubstr("ATTUNE_POLICY is 'soon'"));
}

TEST(Settings, SwitchesAreZeroOrOneAndNothingElse) {
  EXPECT_TRUE(ReadSettings(nullptr, {{"ATTUNE_SUMMARY", "1"}})->prints_summary);
  EXPECT_FALSE(ReadSettings(nullptr, {{"ATTUNE_SUMMARY", "0"}})->prints_summary);
  EXPECT_THAT(MessageOf(ReadSettings(nullptr, {{"ATTUNE_SUMMARY", "yes"}})),
              HasSubstr("ATTUNE_SUMMARY is 'yes'"));
  EXPECT_THAT(MessageOf(ReadSettings(nullptr, {{"ATTUNE_DETERMINISTIC", "true"}})),
              HasSubstr("ATTUNE_DETERMINISTIC is 'true'"));
}

TEST(Settings, ADatabaseIsThePathThatItWasWhenTheOptionsWereRead) {
  const auto here = std::filesystem::current_path();
  for (const char* name : {"x.db", "sqlite:x.db", "sqlite://x.db"}) {
    const auto options = ReadSettings(nullptr, {{"ATTUNE_DB", name}});
    ASSERT_TRUE(options.ok()) << MessageOf(options);
    EXPECT_EQ(options->database, (here / "x.db").string());
  }
}

TEST(Settings, ADatabaseOnAServerIsNoneForARunTimeWhichSaysSo) {
  const auto options = ReadSettings(nullptr, {{"ATTUNE_DB", "postgresql://me@here/attune"}});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->database, "");
  EXPECT_THAT(options->notes, Contains(HasSubstr("on a server")));
}

TEST(Settings, AStructOfAnOlderReleaseIsReadAsFarAsItGoes) {
  attune_options said = ATTUNE_OPTIONS_INIT;
  said.database = "/tmp/old.db";
  said.max_plans = 7;
  said.struct_size = offsetof(attune_options, max_plans);
  const auto options = ReadSettings(&said, {});
  ASSERT_TRUE(options.ok()) << MessageOf(options);
  EXPECT_EQ(options->database, "/tmp/old.db");
  EXPECT_EQ(options->server.max_plans, ServerOptions().max_plans);
}

TEST(Settings, AStructWithoutItsSizeIsRefused) {
  attune_options said{};
  EXPECT_THAT(MessageOf(ReadSettings(&said, {})), HasSubstr("struct_size"));
}

}  // namespace
}  // namespace attune
