// Stand-ins of NVML, loaded like the real one.
#include "backends/cuda/driver/nvml.h"

#include <cstdlib>
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

constexpr const char* kBusId = "0000:1B:00.0";
constexpr const char* kFull = ATTUNE_STAND_IN_NVML_FULL;

class NvmlTest : public testing::Test {
 protected:
  void SetUp() override { Tell(""); }
  void TearDown() override { Tell(""); }
  // Sets the stand-in's answers from now on.
  static void Tell(const std::string& words) { ::setenv("STAND_IN_NVML", words.c_str(), 1); }

  static DeviceConditions ReadBy(const std::string& library) {
    const auto conditions = Nvml(library).Read(kBusId);
    EXPECT_TRUE(conditions.ok()) << conditions.status().ToString();
    return conditions.value_or(DeviceConditions());
  }
};

TEST_F(NvmlTest, EveryReadingComesInTheUnitOfItsName) {
  const Nvml nvml(kFull);

  const auto conditions = nvml.Read(kBusId);

  EXPECT_TRUE(nvml.available());
  EXPECT_EQ(nvml.report().version, "580.95.05");
  ASSERT_TRUE(conditions.ok()) << conditions.status().ToString();
  EXPECT_EQ(conditions->compute_clock_mhz, 1305);
  EXPECT_EQ(conditions->memory_clock_mhz, 2619);
  EXPECT_EQ(conditions->power_w, 698.25);
  EXPECT_EQ(conditions->power_limit_w, 700.0);
  EXPECT_EQ(conditions->temperature_c, 71);
  EXPECT_THAT(conditions->clock_reasons.value(), ElementsAre("sw_power_cap"));
  EXPECT_TRUE(Validate(*conditions).ok());
}

TEST_F(NvmlTest, EnergyIsThatOfTheDeviceInMillijoules) {
  EXPECT_EQ(Nvml(kFull).ReadMillijoules(kBusId).value(), 1'234'567);
}

TEST_F(NvmlTest, AGpuThatDoesNotCountEnergySaysSo) {
  Tell("nvmlDeviceGetTotalEnergyConsumption=3");

  const auto energy = Nvml(kFull).ReadMillijoules(kBusId);

  ASSERT_FALSE(energy.ok());
  EXPECT_EQ(energy.error().code(), StatusCode::kUnsupported);
  EXPECT_THAT(energy.error().message(), testing::HasSubstr("As told (error 3)"));
}

TEST_F(NvmlTest, EachQuestionIsAskedAnew) {
  const Nvml nvml(kFull);
  ASSERT_EQ(nvml.Read(kBusId)->compute_clock_mhz, 1305);

  Tell("sm_mhz=345 power_mw=74001 reasons=0x1");
  const auto later = nvml.Read(kBusId);

  EXPECT_EQ(later->compute_clock_mhz, 345);
  EXPECT_EQ(later->power_w, 74.001);
  EXPECT_THAT(later->clock_reasons.value(), ElementsAre("gpu_idle"));
}

TEST_F(NvmlTest, OlderDriversCallTheReasonsByAnotherName) {
  Tell("reasons=0x60");

  EXPECT_THAT(ReadBy(ATTUNE_STAND_IN_NVML_OLD).clock_reasons.value(),
              ElementsAre("hw_thermal_slowdown", "sw_thermal_slowdown"));
}

TEST_F(NvmlTest, AnErrorOfOneCallLeavesOutItsReadingAlone) {
  const DeviceConditions whole = ReadBy(kFull);
  const auto with_error = [](const std::string& function) {
    Tell(function + "=999");
    return ReadBy(kFull);
  };

  DeviceConditions expected = whole;
  expected.compute_clock_mhz.reset();
  expected.memory_clock_mhz.reset();
  EXPECT_EQ(with_error("nvmlDeviceGetClockInfo"), expected);
  expected = whole;
  expected.power_w.reset();
  EXPECT_EQ(with_error("nvmlDeviceGetPowerUsage"), expected);
  expected = whole;
  expected.power_limit_w.reset();
  EXPECT_EQ(with_error("nvmlDeviceGetEnforcedPowerLimit"), expected);
  expected = whole;
  expected.temperature_c.reset();
  EXPECT_EQ(with_error("nvmlDeviceGetTemperature"), expected);
  expected = whole;
  expected.clock_reasons.reset();
  EXPECT_EQ(with_error("reasons_function"), expected);
  EXPECT_EQ(with_error("nvmlSystemGetDriverVersion"), whole);
}

TEST_F(NvmlTest, AReadingThatIsNotAvailableIsAbsent) {
  Tell("power_mw=0xffffffff");

  EXPECT_FALSE(ReadBy(kFull).power_w.has_value());
}

TEST_F(NvmlTest, WithoutTheFunctionsThatReadNothingIsKnown) {
  const Nvml nvml(ATTUNE_STAND_IN_NVML_BARE);

  EXPECT_TRUE(nvml.available());
  EXPECT_EQ(nvml.report().version, "");
  EXPECT_EQ(*nvml.Read(kBusId), DeviceConditions());
}

TEST_F(NvmlTest, ALibraryThatFindsNoDeviceIsNotUsed) {
  const Nvml nvml(ATTUNE_STAND_IN_NVML_BLIND);

  EXPECT_FALSE(nvml.available());
  EXPECT_THAT(nvml.report().missing, AllOf(HasSubstr(".so"), HasSubstr("lacks a function")));
  EXPECT_EQ(nvml.Read(kBusId).status().code(), StatusCode::kUnavailable);
}

TEST_F(NvmlTest, ALibraryThatCannotBeInitialisedSaysWhy) {
  Tell("nvmlInit_v2=9");

  const Nvml nvml(kFull);

  EXPECT_FALSE(nvml.available());
  EXPECT_THAT(nvml.report().missing, HasSubstr("cannot be initialised: As told (error 9)."));
}

TEST_F(NvmlTest, ADeviceThatIsLostIsNamedByItsPlace) {
  const Nvml nvml(kFull);

  EXPECT_THAT(nvml.Read("0000:FF:00.0").status().message(),
              HasSubstr("0000:FF:00.0: As told (error 6)."));
  Tell("nvmlDeviceGetHandleByPciBusId_v2=15");
  EXPECT_EQ(nvml.Read(kBusId).status().code(), StatusCode::kUnavailable);
}

TEST_F(NvmlTest, AMachineWithoutTheLibraryIsToldWhatBringsIt) {
  const Nvml nvml("libattune-no-such-nvml.so.1");

  EXPECT_FALSE(nvml.available());
  EXPECT_THAT(nvml.report().missing,
              AllOf(HasSubstr("libattune-no-such-nvml.so.1"), HasSubstr("NVIDIA's driver")));
  EXPECT_EQ(nvml.Read(kBusId).status().code(), StatusCode::kUnavailable);
}

TEST(ClockReasons, EveryBitHasItsWordAndUnknownOnesTheirNumber) {
  EXPECT_THAT(ClockReasons(0), IsEmpty());
  EXPECT_THAT(ClockReasons(0x1ff),
              ElementsAre("applications_clocks_setting", "display_clock_setting", "gpu_idle",
                          "hw_power_brake_slowdown", "hw_slowdown", "hw_thermal_slowdown",
                          "sw_power_cap", "sw_thermal_slowdown", "sync_boost"));
  EXPECT_THAT(ClockReasons(uint64_t{1} << 63 | 0x200), ElementsAre("bit_63", "bit_9"));
  DeviceConditions all;
  all.clock_reasons = ClockReasons(~uint64_t{0});
  EXPECT_TRUE(Validate(all).ok()) << Validate(all).message();
}

}  // namespace
}  // namespace attune::cuda
