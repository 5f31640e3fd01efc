#include "backends/host/execution_environment.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace attune::host {
namespace {

// A copy of the system's files, in a folder of the test.
class Processors : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) / "attune_processors";
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content << "\n";
  }

  std::filesystem::path root_;
};

TEST(WaitPolicyTest, BothWordsAreReadInAnyCaseAndWithBlanksAround) {
  for (const char* text : {"active", "ACTIVE", "Active", " active", "active\t "}) {
    EXPECT_EQ(WaitPolicyOf(text), "active") << text;
  }
  for (const char* text : {"passive", "PASSIVE", "pasSive", "\n passive "}) {
    EXPECT_EQ(WaitPolicyOf(text), "passive") << text;
  }
}

TEST(WaitPolicyTest, EverythingElseIsNone) {
  for (const char* text :
       {"", " ", "bogus", "activ", "actives", "active passive", "0", "passive,"}) {
    EXPECT_EQ(WaitPolicyOf(text), std::nullopt) << text;
  }
}

TEST_F(Processors, WithoutFrequencyFilesNothingIsKnown) {
  EXPECT_EQ(FrequencyGovernor(root_), "unknown");
  EXPECT_EQ(FrequencyBoost(root_), "unknown");
}

TEST_F(Processors, GovernorAndBoostAreReadWhereTheSystemTellsThem) {
  Write("cpu0/cpufreq/scaling_governor", "performance");
  Write("cpufreq/boost", "0");

  EXPECT_EQ(FrequencyGovernor(root_), "performance");
  EXPECT_EQ(FrequencyBoost(root_), "off");
}

TEST_F(Processors, NoTurboIsBoostTurnedRound) {
  Write("intel_pstate/no_turbo", "0");

  EXPECT_EQ(FrequencyBoost(root_), "on");
}

}  // namespace
}  // namespace attune::host
