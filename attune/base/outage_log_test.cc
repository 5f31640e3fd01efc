#include "attune/base/outage_log.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecondNs = 1'000'000'000;

class OutageLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> said_;
  OutageLog log_{[this](const std::string& line) { said_.push_back(line); },
                 std::chrono::seconds(600)};
};

TEST_F(OutageLogTest, AnOutageIsToldWhenItBeginsAndWhenItIsOverHoweverOftenItIsTried) {
  for (int64_t second = 10; second < 22; ++second) {
    log_.Away("The database", "It is lost.", second * kSecondNs);
  }
  log_.There("The database", 22 * kSecondNs + kSecondNs / 2);
  log_.There("The database", 23 * kSecondNs);

  EXPECT_THAT(said_, ElementsAre("It is lost. It is tried again for 600 s.",
                                 "The database is there again, after 12.5 s."));
}

TEST_F(OutageLogTest, AConnectionThatIsMadeAgainAtOnceIsNoOutage) {
  log_.Away("The database", "It is lost.", kSecondNs);
  log_.Away("The database", "It is lost.", kSecondNs + OutageLog::kLeastNs - 1);
  log_.There("The database", kSecondNs + OutageLog::kLeastNs);
  log_.Away("The database", "It is lost.", 5 * kSecondNs);

  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(OutageLogTest, WhoeverKnowsWhatIsAwayTellsItAndNotWhoeverFailsBefore) {
  log_.Away("The database", "It is lost.", kSecondNs);
  log_.Fails("The work", Unavailable("Nothing can be written."), kSecondNs);
  log_.Away("The database", "It is lost.", 2 * kSecondNs);
  log_.There("The database", 3 * kSecondNs);
  log_.There("The work", 3 * kSecondNs);

  EXPECT_THAT(said_, ElementsAre("It is lost. It is tried again for 600 s.",
                                 "The database is there again, after 2.0 s."));
}

TEST_F(OutageLogTest, WhatFailsOnceAndIsThereAtTheNextAttemptIsNoOutage) {
  log_.Fails("The work", Unavailable("It is lost."), kSecondNs);
  log_.There("The work", 2 * kSecondNs);

  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(OutageLogTest, OfSeveralThatFailAndDoNotKnowWhyOneTellsIt) {
  for (int64_t second = 1; second <= 3; ++second) {
    log_.Fails("The work", Unavailable("It takes too long."), second * kSecondNs);
    log_.Fails("The housekeeping", Unavailable("It has no connection."), second * kSecondNs);
  }
  log_.There("The housekeeping", 4 * kSecondNs);
  log_.There("The work", 4 * kSecondNs);

  EXPECT_THAT(said_, ElementsAre("It takes too long. It is tried again for 600 s.",
                                 "The work is there again, after 3.0 s."));
}

TEST_F(OutageLogTest, WhatFailsBecauseOfAnOutageThatIsKnownIsNotToldBesideIt) {
  log_.Away("The queue", "It is lost.", kSecondNs);
  log_.Away("The queue", "It is lost.", 2 * kSecondNs);
  log_.Fails("The work", Unavailable("Nothing can be taken."), 3 * kSecondNs);
  log_.There("The work", 4 * kSecondNs);
  log_.Fails("The work", ResourceExhausted("It is full."), 5 * kSecondNs);
  log_.Fails("The housekeeping", ResourceExhausted("It is full."), 5 * kSecondNs);
  log_.There("The housekeeping", 6 * kSecondNs);
  log_.There("The work", 6 * kSecondNs);

  EXPECT_THAT(said_, ElementsAre("It is lost. It is tried again for 600 s.",
                                 "It is full. It is tried again for 600 s.",
                                 "The work is there again, after 1.0 s."));
}

}  // namespace
}  // namespace attune
