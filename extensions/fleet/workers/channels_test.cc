#include "extensions/fleet/workers/channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr JobStep kMeasure{JobSearch::kPerf, JobWork::kMeasure};
constexpr JobStep kCompile{JobSearch::kPerf, JobWork::kCompile};

SessionTerms TermsWith(const std::string& driver) {
  Target target;
  target.backend = "cuda";
  target.device = "H100";
  target.arch = "sm_90";
  target.compute_units = 132;
  return {"cuda", "sm_90", target, {{"driver.cuda", driver}}};
}

TEST(Channels, WhatIsMeasuredInAnotherEnvironmentGoesThroughAnotherChannel) {
  const Channel older = ChannelOf(TermsWith("535.1"), kMeasure);

  EXPECT_EQ(older, ChannelOf(TermsWith("535.1"), kMeasure));
  EXPECT_NE(Token(older), Token(ChannelOf(TermsWith("550.2"), kMeasure)));
}

TEST(Channels, WhatIsCompiledIsForEveryEnvironment) {
  EXPECT_EQ(ChannelOf(TermsWith("535.1"), kCompile), ChannelOf(TermsWith("550.2"), kCompile));
}

TEST(Channels, ASessionWithoutADeviceIsForItsArchitecture) {
  const Channel channel = ChannelOf({"cuda", "sm_90", std::nullopt, {}}, kMeasure);

  EXPECT_EQ(channel.target, "cuda::sm_90:0{}");
}

}  // namespace
}  // namespace attune
