#include "extensions/fleet/workers/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FairShareTest, SessionsOfOnePriorityTakeTurns) {
  const std::vector<Backlog> backlogs = {{1, 0, {{11, 0, 0}, {12, 0, 0}, {13, 0, 0}}},
                                         {2, 0, {{21, 0, 0}, {22, 4, 0}}}};

  EXPECT_THAT(ChooseFairly(backlogs, {}, 4, 0).jobs,
              ElementsAre(QueuedJob{11, 0}, QueuedJob{21, 0}, QueuedJob{12, 0}, QueuedJob{22, 4}));
}

TEST(FairShareTest, WhoeverHasMoreInFlightWaits) {
  const std::vector<Backlog> backlogs = {{1, 2, {{11, 0, 0}, {12, 0, 0}}},
                                         {2, 0, {{21, 0, 0}, {22, 0, 0}, {23, 0, 0}}}};

  EXPECT_THAT(ChooseFairly(backlogs, {}, 4, 0).jobs,
              ElementsAre(QueuedJob{21, 0}, QueuedJob{22, 0}, QueuedJob{11, 0}, QueuedJob{23, 0}));
}

TEST(FairShareTest, WhatIsChosenAlreadyCountsAsInFlightAndIsNotChosenAgain) {
  const std::vector<Backlog> backlogs = {{1, 0, {{11, 0, 0}, {12, 0, 0}}}, {2, 0, {{21, 0, 0}}}};

  EXPECT_THAT(ChooseFairly(backlogs, {{11, 0}}, 1, 0).jobs, ElementsAre(QueuedJob{21, 0}));
  EXPECT_THAT(ChooseFairly(backlogs, {{11, 0}, {12, 0}, {21, 0}}, 5, 0).jobs, IsEmpty());
}

TEST(FairShareTest, AJobThatIsQueuedAnewIsChosenAgain) {
  EXPECT_THAT(ChooseFairly({{1, 0, {{11, 1, 0}}}}, {{11, 0}}, 5, 0).jobs,
              ElementsAre(QueuedJob{11, 1}));
}

TEST(FairShareTest, WithOneJobInFlightSessionsTakeTurnsToo) {
  std::vector<Backlog> backlogs = {{1, 0, {{11, 0, 0}, {12, 0, 0}, {13, 0, 0}}},
                                   {2, 0, {{21, 0, 0}, {22, 0, 0}}},
                                   {3, 0, {{31, 0, 0}}}};
  std::vector<int64_t> done;
  int64_t last_session_id = 0;

  for (int i = 0; i < 6; ++i) {
    const FairChoice choice = ChooseFairly(backlogs, {}, 1, last_session_id);
    last_session_id = choice.last_session_id;
    auto& jobs = backlogs[last_session_id - 1].jobs;
    done.push_back(jobs.front().id);
    ASSERT_THAT(choice.jobs, ElementsAre(QueuedJob{done.back(), 0}));
    jobs.erase(jobs.begin());
  }

  EXPECT_THAT(done, ElementsAre(11, 21, 31, 12, 22, 13));
  EXPECT_EQ(ChooseFairly(backlogs, {}, 1, 1), (FairChoice{{}, 1}));
}

TEST(FairShareTest, AHigherPriorityGoesFirstWhoseverItIs) {
  const std::vector<Backlog> backlogs = {{1, 0, {{11, 0, 0}}},
                                         {2, 9, {{21, 0, 5}, {22, 0, 5}, {23, 0, 0}}}};

  EXPECT_THAT(ChooseFairly(backlogs, {}, 4, 0).jobs,
              ElementsAre(QueuedJob{21, 0}, QueuedJob{22, 0}, QueuedJob{11, 0}, QueuedJob{23, 0}));
}

}  // namespace
}  // namespace attune
