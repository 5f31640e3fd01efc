#include "attune/measure/energy_meter.h"

#include <cmath>

#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"

namespace attune {
namespace {

// A device that draws `watts`, with a counter that moves every `period_ns`.
class SteppingCounter final : public EnergyCounter {
 public:
  SteppingCounter(FakeClock& clock, double watts, int64_t period_ns)
      : clock_(clock), watts_(watts), period_ns_(period_ns) {}

  Result<double> ReadJoules() override {
    if (is_broken) return Unavailable("gone");
    return watts_ * static_cast<double>(clock_.NowNs() / period_ns_ * period_ns_) / 1e9;
  }
  std::string name() const override { return "stepping"; }

  bool is_broken = false;

 private:
  FakeClock& clock_;
  const double watts_;
  const int64_t period_ns_;
};

class EnergyMeterTest : public ::testing::Test {
 protected:
  static constexpr double kLaunchNs = 50'000;

  LaunchMany Launching() {
    return [this](int64_t launches) {
      launches_ += launches;
      clock_.Advance(launches * static_cast<int64_t>(kLaunchNs));
      return Status::Ok();
    };
  }

  FakeClock clock_;
  int64_t launches_ = 0;
};

TEST_F(EnergyMeterTest, FindsJoulesOfALaunchWithinItsBounds) {
  SteppingCounter counter(clock_, 100, 20'000'000);

  const auto reading = MeasureEnergy(counter, Launching(), kLaunchNs, clock_);

  ASSERT_TRUE(reading.ok()) << reading.error().message();
  const double joules = 100 * kLaunchNs / 1e9;
  EXPECT_NEAR(reading->joules, joules, 0.02 * joules);
  EXPECT_LE(reading->low_joules, joules);
  EXPECT_GE(reading->high_joules, joules);
  EXPECT_LT(reading->high_joules / reading->low_joules, 1.03);
}

TEST_F(EnergyMeterTest, ACoarserCounterIsWatchedLonger) {
  SteppingCounter counter(clock_, 300, 100'000'000);

  const auto reading = MeasureEnergy(counter, Launching(), kLaunchNs, clock_);

  ASSERT_TRUE(reading.ok()) << reading.error().message();
  // Ten moves after the first one.
  EXPECT_GE(clock_.NowNs(), 1'000'000'000);
  EXPECT_LE(clock_.NowNs(), 1'200'000'000);
  EXPECT_NEAR(reading->joules, 300 * kLaunchNs / 1e9, 1e-4);
}

TEST_F(EnergyMeterTest, ALaunchLongerThanABatchIsOne) {
  SteppingCounter counter(clock_, 100, 1'000'000);
  const auto launch = [this](int64_t launches) {
    EXPECT_EQ(launches, 1);
    clock_.Advance(30'000'000);
    return Status::Ok();
  };

  const auto reading = MeasureEnergy(counter, launch, 30e6, clock_);

  ASSERT_TRUE(reading.ok()) << reading.error().message();
  EXPECT_NEAR(reading->joules, 3.0, 0.15);
}

TEST_F(EnergyMeterTest, ACounterThatStandsStillIsGivenUp) {
  SteppingCounter counter(clock_, 0, 1'000'000);

  const auto reading = MeasureEnergy(counter, Launching(), kLaunchNs, clock_);

  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(reading.error().code(), StatusCode::kUnavailable);
  EXPECT_NE(reading.error().message().find("stepping moved 0 times in 15 s"), std::string::npos)
      << reading.error().message();
}

TEST_F(EnergyMeterTest, WhatACounterFailsWithIsReturned) {
  SteppingCounter counter(clock_, 100, 1'000'000);
  counter.is_broken = true;

  EXPECT_EQ(MeasureEnergy(counter, Launching(), kLaunchNs, clock_).error().message(), "gone");
}

TEST_F(EnergyMeterTest, WhatALaunchFailsWithIsReturned) {
  SteppingCounter counter(clock_, 100, 1'000'000);

  const auto reading = MeasureEnergy(
      counter, [](int64_t) { return Status(Internal("no launch")); }, kLaunchNs, clock_);

  EXPECT_EQ(reading.error().message(), "no launch");
}

}  // namespace
}  // namespace attune
