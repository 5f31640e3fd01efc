#include "attune/trial/device_conditions.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SetConditions HeldBefore(std::vector<std::string> reasons) {
  SetConditions conditions;
  conditions.before.emplace().clock_reasons = std::move(reasons);
  return conditions;
}

TEST(HeldBackBy, IdleAndChosenClocksAreNotThrottled) {
  EXPECT_THAT(HeldBackBy({}), IsEmpty());
  EXPECT_THAT(HeldBackBy(HeldBefore({})), IsEmpty());
  EXPECT_THAT(
      HeldBackBy(HeldBefore({"applications_clocks_setting", "bit_9", "gpu_idle", "sync_boost"})),
      IsEmpty());
  EXPECT_EQ(HeldBackText({}), "");
}

TEST(HeldBackBy, BothMomentsCountAndEachWordStandsOnce) {
  SetConditions conditions = HeldBefore({"hw_slowdown", "hw_thermal_slowdown"});
  conditions.after.emplace().clock_reasons = {"gpu_idle", "sw_power_cap", "sw_thermal_slowdown"};

  EXPECT_THAT(HeldBackBy(conditions), ElementsAre("power cap", "temperature", "hardware slowdown"));
  EXPECT_EQ(HeldBackText(conditions), "power cap, temperature, hardware slowdown");
}

TEST(DeviceConditions, WhatIsAbsentIsValid) {
  EXPECT_TRUE(Validate(DeviceConditions()).ok());
  EXPECT_TRUE(Validate(SetConditions()).ok());
  EXPECT_TRUE(SetConditions().empty());
}

TEST(DeviceConditions, ImpossibleValuesAreNamed) {
  const auto message = [](const auto& change) {
    DeviceConditions conditions;
    conditions.temperature_c = -40;
    conditions.clock_reasons = {"gpu_idle"};
    change(conditions);
    const Status status = Validate(SetConditions{std::nullopt, conditions});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };

  EXPECT_THAT(message([](auto& c) { c.compute_clock_mhz = -1; }),
              HasSubstr("after a final: compute_clock_mhz is -1"));
  EXPECT_THAT(message([](auto& c) { c.memory_clock_mhz = -2; }), HasSubstr("memory_clock_mhz"));
  EXPECT_THAT(message([](auto& c) { c.power_w = std::nan(""); }), HasSubstr("power_w is nan"));
  EXPECT_THAT(message([](auto& c) { c.power_limit_w = -0.5; }), HasSubstr("power_limit_w is -0.5"));
  EXPECT_THAT(message([](auto& c) { c.clock_reasons = {"Gpu"}; }), HasSubstr("no word"));
  EXPECT_THAT(message([](auto& c) { c.clock_reasons = {""}; }), HasSubstr("no word"));
  EXPECT_THAT(message([](auto& c) { c.clock_reasons = {std::string(41, 'a')}; }),
              HasSubstr("41 bytes"));
  EXPECT_THAT(message([](auto& c) { c.clock_reasons = {"a", "a"}; }), HasSubstr("each once"));
  EXPECT_THAT(message([](auto& c) { c.clock_reasons = std::vector<std::string>(65, "a"); }),
              HasSubstr("are 65"));
}

}  // namespace
}  // namespace attune
