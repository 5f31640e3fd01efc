#include "extensions/models/seer/launched_pick.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::seer {
namespace {

using testing::HasSubstr;

Result<std::vector<ObservedLaunch>> Launching(const char* kernel) {
  return std::vector<ObservedLaunch>{{kernel, 10, 128, 0, 0, 0}};
}

// Calls of the named algorithms launch one kernel or fail; others are not supported.
using Answers = std::map<std::string, Result<std::vector<ObservedLaunch>>>;
Result<int> PickAmong(const Answers& answers) {
  return LaunchedPick([&](const std::string& name) -> Result<std::vector<ObservedLaunch>> {
    const auto found = answers.find(name);
    if (found == answers.end()) return Unsupported("It has no such one.");
    return found->second;
  });
}

TEST(LaunchedPick, IsTheAlgorithmThatLaunchesWhatTheHeuristicsAnswerLaunches) {
  const auto pick = PickAmong({{"first", Launching("sgemm_128x64")},
                               {"implicit_gemm", Launching("implicit_convolve")},
                               {"gemm", ResourceExhausted("It does not fit.")},
                               {"winograd", Launching("sgemm_128x64")}});

  ASSERT_TRUE(pick.ok()) << pick.status().ToString();
  EXPECT_EQ(*pick, 6);
}

TEST(LaunchedPick, WhereNoAlgorithmLaunchesItTheKernelsAreNamed) {
  const auto pick = PickAmong({{"first", Launching("xmma")}, {"gemm", Launching("sgemm")}});

  EXPECT_EQ(pick.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(pick.status().message(), HasSubstr("('xmma')"));
}

TEST(LaunchedPick, AnAnswerThatCannotBeLaunchedSaysWhy) {
  const auto pick = PickAmong(
      {{"first", ResourceExhausted("The workspace does not fit.")}, {"gemm", Launching("sgemm")}});

  EXPECT_EQ(pick.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(pick.status().message(), HasSubstr("heuristic"));
  EXPECT_THAT(pick.status().message(), HasSubstr("The workspace does not fit."));
}

TEST(LaunchedPick, ADeviceThatIsLostIsNoAlgorithmThatIsNotSupported) {
  const auto pick = PickAmong({{"first", Launching("sgemm")},
                               {"implicit_gemm", Unavailable("The device is lost.")},
                               {"gemm", Launching("sgemm")}});

  EXPECT_EQ(pick.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(pick.status().message(), HasSubstr("Algorithm 0"));
  EXPECT_THAT(pick.status().message(), HasSubstr("The device is lost."));
}

}  // namespace
}  // namespace attune::seer
