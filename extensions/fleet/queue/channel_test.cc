#include "extensions/fleet/queue/channel.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(Channel, TheTokenIsTheSameInEveryRelease) {
  const Channel channel{"cuda:NVIDIA H200:sm_90:132{}", {JobSearch::kPerf, JobWork::kMeasure}};

  EXPECT_EQ(Token(channel), "perf-measure-9ef8f48132271dcc9e836b3aebb68e62");
}

TEST(Channel, EveryTargetAndStepHasATokenOfItsOwn) {
  std::set<std::string> tokens;
  for (const char* target : {"", "a", "a ", "A", "host:x:y:1{}"}) {
    for (const JobStep& step : AllJobSteps()) tokens.insert(Token({target, step}));
  }

  EXPECT_EQ(tokens.size(), 20u);
}

TEST(Channel, NoTargetPutsIntoTheTokenWhatSubjectsAreSplitBy) {
  for (const char* target : {"a.b", "*", ">", "a b\r\nPUB x 1", "\xff"}) {
    const std::string token = Token({target, {}});

    EXPECT_EQ(token.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
  }
}

}  // namespace
}  // namespace attune
