#include "extensions/fleet/machine_wait.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kWaitedSecondNs = 1'000'000'000;

class MachineWaitTest : public ::testing::Test {
 protected:
  void WaitFrom(int64_t begin_s, int64_t end_s) {
    for (int64_t second = begin_s; second <= end_s; ++second) wait_.Waits(second * kWaitedSecondNs);
  }

  std::vector<std::string> said_;
  MachineWait wait_{[this](const std::string& line) { said_.push_back(line); }};
};

TEST_F(MachineWaitTest, ALongWaitIsToldOnceAndSoIsItsEnd) {
  WaitFrom(10, 30);
  wait_.GoesOn(31 * kWaitedSecondNs);
  wait_.GoesOn(32 * kWaitedSecondNs);

  EXPECT_THAT(said_, ElementsAre(HasSubstr("waiting for it"), HasSubstr("going on after 21 s")));
}

TEST_F(MachineWaitTest, ShortWaitsAreNotAddedUp) {
  for (int64_t begin_s = 10; begin_s < 100; begin_s += 10) {
    WaitFrom(begin_s, begin_s + 4);
    wait_.GoesOn((begin_s + 5) * kWaitedSecondNs);
  }

  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(MachineWaitTest, WhoeverGaveUpDoesNotGoOn) {
  WaitFrom(10, 30);
  wait_.Ends();
  wait_.GoesOn(40 * kWaitedSecondNs);

  EXPECT_THAT(said_, ElementsAre(HasSubstr("waiting for it")));
}

}  // namespace
}  // namespace attune
