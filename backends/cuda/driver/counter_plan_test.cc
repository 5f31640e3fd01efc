// Counters of chips that are not present. Tests use CUPTI itself where it is installed, which needs
// neither device nor driver for that. A table of functions in its place covers results that need a
// device's data or a failure.
#include "backends/cuda/driver/counter_plan.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::cuda {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

const std::vector<std::string> kCounters = {
    "dram__bytes_read.sum", "sm__inst_executed_pipe_tensor.sum", "lts__t_sectors_op_read.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active"};

class InstalledCuptiTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cupti_.available()) GTEST_SKIP() << cupti_.report.missing;
  }

  const Cupti cupti_ = LoadCupti();
};

TEST_F(InstalledCuptiTest, IsLoadedWithoutADeviceAndHasAVersion) {
  EXPECT_THAT(cupti_.report.version, HasSubstr("."));
  EXPECT_THAT(cupti_.report.path, HasSubstr("libcupti"));
}

TEST_F(InstalledCuptiTest, KnowsTheChipsThatKernelsAreBuiltFor) {
  const auto chips = ChipsWithCounters(cupti_);

  ASSERT_TRUE(chips.ok()) << chips.status().ToString();
  EXPECT_THAT(*chips, IsSupersetOf({"GA100", "GH100"}));
}

TEST_F(InstalledCuptiTest, PlansCountersOfChipsThatAreNotHere) {
  for (const char* chip : {"GA100", "GH100"}) {
    const auto plan = PlanCounters(cupti_, chip, kCounters);

    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    EXPECT_EQ(plan->chip, chip);
    EXPECT_EQ(plan->counters, kCounters);
    EXPECT_THAT(plan->config_image, Not(IsEmpty()));
    EXPECT_GE(plan->passes, 1u);
  }
}

TEST_F(InstalledCuptiTest, ThePlanOfTheSameCountersIsTheSame) {
  const auto first = PlanCounters(cupti_, "GH100", kCounters);
  const auto second = PlanCounters(cupti_, "GH100", kCounters);

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

TEST_F(InstalledCuptiTest, WhatOneRunCannotCountTakesMorePasses) {
  std::vector<std::string> many = kCounters;
  for (const char* reason : {"barrier", "long_scoreboard", "math_pipe_throttle", "mio_throttle",
                             "short_scoreboard", "wait", "dispatch_stall", "no_instruction"}) {
    many.push_back(std::string("smsp__warp_issue_stalled_") + reason + "_per_warp_active.pct");
  }

  const auto one = PlanCounters(cupti_, "GH100", {kCounters.front()});
  const auto all = PlanCounters(cupti_, "GH100", many);

  ASSERT_TRUE(one.ok()) << one.status().ToString();
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  EXPECT_EQ(one->passes, 1u);
  EXPECT_GT(all->passes, 1u);
}

TEST_F(InstalledCuptiTest, EveryCounterThatAChipHasNotIsNamedAndNoOther) {
  const std::vector<std::string> counters = {"dram__bytes_read.sum", "nonsense.sum",
                                             "dram__bytes_read.nonsense"};

  const auto missing = CountersMissing(cupti_, "GH100", counters);
  const auto plan = PlanCounters(cupti_, "GH100", counters);

  ASSERT_TRUE(missing.ok()) << missing.status().ToString();
  EXPECT_THAT(*missing, ElementsAre("nonsense.sum", "dram__bytes_read.nonsense"));
  EXPECT_EQ(plan.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(plan.status().message(),
              AllOf(HasSubstr("nonsense.sum, dram__bytes_read.nonsense of GH100"),
                    Not(HasSubstr("dram__bytes_read.sum"))));
}

TEST_F(InstalledCuptiTest, ACounterWithoutWhatIsMadeOfItsUnitsIsNamed) {
  const auto plan = PlanCounters(cupti_, "GH100", {"dram__bytes_read.sum", "sm__warps_active"});

  EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(plan.status().message(), HasSubstr("GH100 cannot collect sm__warps_active as"));
}

TEST_F(InstalledCuptiTest, AnUnknownChipIsAnErrorThatListsTheKnown) {
  const auto plan = PlanCounters(cupti_, "GH1000", kCounters);

  EXPECT_EQ(plan.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(plan.status().message(), AllOf(HasSubstr("'GH1000'"), HasSubstr("GH100,")));
}

// Data that a device never counted into holds zeros.
TEST_F(InstalledCuptiTest, DataWithoutCountsIsAnError) {
  const auto plan = PlanCounters(cupti_, "GH100", kCounters);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  const std::vector<uint8_t> zeros(65536);

  EXPECT_EQ(CounterValues(cupti_, *plan, zeros, 0).status().code(), StatusCode::kInternal);
  EXPECT_EQ(CounterValues(cupti_, *plan, {}, 0).status().code(), StatusCode::kInternal);
}

TEST(CuptiTest, WhereItIsMissingThereIsAReasonAndNothingIsPlanned) {
  const Cupti cupti = LoadCupti({"libcupti-of-nobody.so"});

  EXPECT_FALSE(cupti.available());
  EXPECT_THAT(cupti.report.missing,
              AllOf(HasSubstr("libcupti-of-nobody.so"), HasSubstr("cuda-cupti")));
  EXPECT_EQ(PlanCounters(cupti, "GH100", kCounters).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(ChipsWithCounters(cupti).status().code(), StatusCode::kUnavailable);
}

TEST(CuptiTest, ALibraryWithoutItsFunctionsIsRefusedWithTheFirst) {
  const Cupti cupti = LoadCupti({"libm.so.6"});

  EXPECT_FALSE(cupti.available());
  EXPECT_THAT(cupti.report.missing, HasSubstr("has no function 'cuptiGetVersion'"));
}

TEST_F(InstalledCuptiTest, TheOneThatWeWereBuiltForIsNothingToWarnOf) {
  uint32_t version = 0;
  ASSERT_EQ(cupti_.cuptiGetVersion(&version), CUPTI_SUCCESS);

  EXPECT_EQ(cupti_.warning.empty(), version == CUPTI_API_VERSION) << cupti_.warning;
}

TEST(CuptiTest, AnotherVersionIsNamedBesideTheOneThatWeWereBuiltFor) {
  const uint32_t other = CUPTI_API_VERSION + 100;

  EXPECT_THAT(VersionWarning(other, "/opt/libcupti.so.13"),
              AllOf(HasSubstr("/opt/libcupti.so.13 is version "), HasSubstr("was built for")));
  EXPECT_THAT(VersionWarning(130203, "x"), HasSubstr("13.2.3"));
  EXPECT_THAT(VersionWarning(0, "x"), HasSubstr("does not tell its version"));
  EXPECT_EQ(VersionWarning(CUPTI_API_VERSION, "x"), "");
}

TEST(CuptiTest, NoCountersAreNoPlan) {
  EXPECT_EQ(PlanCounters(Cupti(), "GH100", {}).status().code(), StatusCode::kInvalidArgument);
}

// A CUPTI in which a range is one byte of data and the value of the counter "xn.sum" n times that.
// Objects that are made and not yet destroyed are counted.
int objects = 0;

CUptiResult Initialize(CUpti_Profiler_Host_Initialize_Params* params) {
  params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(&objects);
  ++objects;
  return CUPTI_SUCCESS;
}

CUptiResult Deinitialize(CUpti_Profiler_Host_Deinitialize_Params*) {
  --objects;
  return CUPTI_SUCCESS;
}

CUptiResult Properties(CUpti_Profiler_Host_GetMetricProperties_Params*) { return CUPTI_SUCCESS; }

CUptiResult RefusesTwoTogether(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  return params->numMetrics == 1 ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

CUptiResult ImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  params->configImageSize = 3;
  return CUPTI_SUCCESS;
}

CUptiResult NoImage(CUpti_Profiler_Host_GetConfigImage_Params*) { return CUPTI_ERROR_UNKNOWN; }

CUptiResult Evaluate(CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  if (params->rangeIndex >= params->counterDataImageSize) return CUPTI_ERROR_INVALID_PARAMETER;
  for (size_t i = 0; i < params->numMetrics; ++i) {
    params->pMetricValues[i] =
        params->pCounterDataImage[params->rangeIndex] * std::stod(params->ppMetricNames[i] + 1);
  }
  return CUPTI_SUCCESS;
}

CUptiResult ResultString(CUptiResult, const char** text) {
  *text = "AS_TOLD";
  return CUPTI_SUCCESS;
}

class StandInCuptiTest : public testing::Test {
 protected:
  StandInCuptiTest() {
    objects = 0;
    cupti_.report.available = true;
    cupti_.cuptiGetResultString = ResultString;
    cupti_.cuptiProfilerHostInitialize = Initialize;
    cupti_.cuptiProfilerHostDeinitialize = Deinitialize;
    cupti_.cuptiProfilerHostGetMetricProperties = Properties;
    cupti_.cuptiProfilerHostConfigAddMetrics = RefusesTwoTogether;
    cupti_.cuptiProfilerHostGetConfigImageSize = ImageSize;
    cupti_.cuptiProfilerHostGetConfigImage = NoImage;
    cupti_.cuptiProfilerHostEvaluateToGpuValues = Evaluate;
  }
  ~StandInCuptiTest() override { EXPECT_EQ(objects, 0) << "objects were not destroyed"; }

  Cupti cupti_;
};

TEST_F(StandInCuptiTest, ValuesAreOfTheRangeAndInTheOrderOfTheCounters) {
  const CounterPlan plan{"GH100", {"x3.sum", "x1.sum"}, {}, 1};
  const std::vector<uint8_t> data = {5, 7};

  const auto values = CounterValues(cupti_, plan, data, 1);

  ASSERT_TRUE(values.ok()) << values.status().ToString();
  EXPECT_THAT(*values, ElementsAre(21, 7));
}

TEST_F(StandInCuptiTest, ARangeThatThereIsNotIsAnErrorWithItsNumber) {
  const CounterPlan plan{"GH100", {"x3.sum"}, {}, 1};
  const std::vector<uint8_t> data = {5, 7};

  const auto values = CounterValues(cupti_, plan, data, 2);

  EXPECT_EQ(values.status().code(), StatusCode::kInternal);
  EXPECT_EQ(values.status().message(),
            "CUPTI does not evaluate range 2 of 2 bytes: AS_TOLD (error 1).");
}

TEST_F(StandInCuptiTest, CountersThatAreOnlyRefusedTogetherAreAllNamed) {
  const auto plan = PlanCounters(cupti_, "GH100", {"x1.sum", "x2.sum"});

  EXPECT_EQ(plan.status().code(), StatusCode::kInternal);
  EXPECT_THAT(plan.status().message(), HasSubstr("does not collect x1.sum, x2.sum together"));
}

TEST_F(StandInCuptiTest, AConfigurationThatIsNotGivenIsNoPlan) {
  const auto plan = PlanCounters(cupti_, "GH100", {"x1.sum"});

  EXPECT_EQ(plan.status().code(), StatusCode::kInternal);
  EXPECT_THAT(plan.status().message(), HasSubstr("does not give a configuration"));
}

}  // namespace
}  // namespace attune::cuda
