#include "backends/host/thread_wait_policy.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "backends/host/execution_environment.h"

namespace attune::host {
namespace {

// Variables of this process, as they were before the test when it ends.
class Variables : public ::testing::Test {
 protected:
  static constexpr const char* kNames[] = {kWaitPolicyVariable, "OMP_PROC_BIND",
                                           "OPENBLAS_THREAD_TIMEOUT"};

  void SetUp() override {
    for (size_t i = 0; i < std::size(kNames); ++i) {
      const char* const value = std::getenv(kNames[i]);
      if (value != nullptr) before_[i] = value;
    }
  }
  void TearDown() override {
    for (size_t i = 0; i < std::size(kNames); ++i) {
      if (before_[i].has_value()) {
        ::setenv(kNames[i], before_[i]->c_str(), 1);
      } else {
        ::unsetenv(kNames[i]);
      }
    }
  }
  static std::string RecordedUnder(const char* value) {
    ::setenv(kWaitPolicyVariable, value, 1);
    return DescribeExecution()[kWaitPolicyField];
  }

  std::optional<std::string> before_[std::size(kNames)];
};

TEST_F(Variables, WhatIsSetToNothingIsSetAsIfItWereUnset) {
  for (const char* name : kNames) ::setenv(name, "", 1);

  EXPECT_TRUE(SetThreadWaitPolicy());

  EXPECT_STREQ(std::getenv(kWaitPolicyVariable), "passive");
  EXPECT_STREQ(std::getenv("OMP_PROC_BIND"), "false");
  EXPECT_STREQ(std::getenv("OPENBLAS_THREAD_TIMEOUT"), "20");
}

TEST_F(Variables, WhatTheUserSetStays) {
  for (const char* name : kNames) ::setenv(name, "ACTIVE", 1);

  EXPECT_FALSE(SetThreadWaitPolicy());

  for (const char* name : kNames) EXPECT_STREQ(std::getenv(name), "ACTIVE");
}

TEST_F(Variables, SpellingsOfOnePolicyAreRecordedAlike) {
  EXPECT_EQ(RecordedUnder("PASSIVE"), "passive");
  EXPECT_EQ(RecordedUnder(" Active "), "active");
  EXPECT_EQ(RecordedUnder("bogus"), "bogus");
  EXPECT_EQ(RecordedUnder(""), "unset");
}

}  // namespace
}  // namespace attune::host
