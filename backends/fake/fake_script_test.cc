#include "backends/fake/fake_script.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

Candidate Tiled(int64_t tile, int64_t threads) {
  return {{"fake.tiled", 1}, {{"tile", tile}, {"threads", threads}}};
}

TEST(FakeScriptTest, LaterLinesChangeOnlyTheKeysThatTheyName) {
  const auto script = FakeScript::Parse(
      "# all of them\n"
      "* sigma=0.5 time_ns=100\n"
      "fake.tiled time_ns=200 ; fake.tiled{tile=8} fault=crash at_launch=3\n");

  ASSERT_TRUE(script.ok()) << script.status().ToString();
  const FakeBehaviour eight = script->BehaviourOf(Tiled(8, 1));
  EXPECT_EQ(eight.sigma, 0.5);
  EXPECT_EQ(eight.time_ns, 200);
  EXPECT_EQ(eight.fault, FakeFault::kCrash);
  EXPECT_EQ(eight.fault_at_launch, 3);
  EXPECT_EQ(script->BehaviourOf(Tiled(16, 1)).fault, FakeFault::kNone);
  EXPECT_EQ(script->BehaviourOf({{"fake.library", 1}, {}}).time_ns, 100);
}

TEST(FakeScriptTest, DeviceLineSetsWhatAllShare) {
  const auto script = FakeScript::Parse("device seed=42 drift=0.1");

  ASSERT_TRUE(script.ok()) << script.status().ToString();
  EXPECT_EQ(script->seed(), 42u);
  EXPECT_EQ(script->drift(), 0.1);
}

TEST(FakeScriptTest, DeviceLineSaysWhatTheDeviceSaysOfItself) {
  const auto script = FakeScript::Parse(
      "device compute_clock_mhz=1305 memory_clock_mhz=2619 power_w=698.25\n"
      "device power_limit_w=700 temperature_c=-3 clock_reasons=gpu_idle,sw_power_cap");
  const auto free = FakeScript::Parse("device clock_reasons=none");

  ASSERT_TRUE(script.ok()) << script.status().ToString();
  EXPECT_EQ(script->conditions(),
            (DeviceConditions{1305, 2619, 698.25, 700, -3,
                              std::vector<std::string>{"gpu_idle", "sw_power_cap"}}));
  EXPECT_FALSE(script->asking_kills());
  EXPECT_EQ(free->conditions().clock_reasons, std::vector<std::string>());
  EXPECT_EQ(FakeScript().conditions(), DeviceConditions());
  EXPECT_TRUE(FakeScript::Parse("device conditions=crash")->asking_kills());
  EXPECT_EQ(FakeScript::Parse("device tiled_version=2.0 gone_if=/x")->tiled_version(), "2.0");
  EXPECT_EQ(FakeScript::Parse("device tiled_version=2.0 gone_if=/x")->gone_if(), "/x");
  EXPECT_EQ(FakeScript::Parse("device library_version=3")->library_version(), "3");
  EXPECT_EQ(FakeScript::Parse("device identity=0000:1B:00.0")->identity(), "0000:1B:00.0");
  EXPECT_EQ(FakeScript::Parse("device spans=/x")->spans(), "/x");
  EXPECT_EQ(FakeScript::Parse("")->library_version(), "1.0");
}

TEST(FakeScriptTest, MistakesAreReportedWithTheirLine) {
  for (const char* text :
       {"* x=1", "* fault=none\n* fault=no_such", "* sigma=-1", "* sigma=", "* sigma=1x", "* sigma",
        "device x=1", "device drift=2", "device power_w=-1", "device conditions=tell",
        "device clock_reasons=b,a", "device clock_reasons=", "fake.tiled{tile=8 fault=crash",
        "fake.tiled{tile} sigma=1", "* time_ns=nan", "* at_launch=0"}) {
    const Status status = FakeScript::Parse(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("line "), std::string::npos) << text;
  }
  EXPECT_NE(FakeScript::Parse("\n* x=1").status().message().find("line 2"), std::string::npos);
}

TEST(FakeScriptTest, EveryFaultNameRoundTrips) {
  for (int i = 0; i <= static_cast<int>(FakeFault::kMemoryHog); ++i) {
    const auto fault = static_cast<FakeFault>(i);
    EXPECT_EQ(ParseFakeFault(Name(fault)), fault);
  }
  EXPECT_EQ(ParseFakeFault("unknown"), std::nullopt);
}

}  // namespace
}  // namespace attune
