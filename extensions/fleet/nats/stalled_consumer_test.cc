#include "extensions/fleet/nats/stalled_consumer.h"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::nats {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
const Channel kShared{"fake:a:b:1{}", {JobSearch::kPerf, JobWork::kMeasure}};
const Channel kOther{"fake:a:b:1{}", {JobSearch::kFind, JobWork::kMeasure}};

constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::minutes kAckWait{2};

ConsumerState Saying(int64_t waiting, int64_t taken, bool is_asked) {
  return {{waiting, taken}, 7, is_asked, true};
}

TEST(PatienceWith, WhatAddsUpIsAllRightUnlessSomebodyAsksForIt) {
  EXPECT_EQ(PatienceWith(Saying(0, 0, true), 0, kAckWait), std::nullopt);
  EXPECT_EQ(PatienceWith(Saying(5, 3, false), 8, kAckWait), std::nullopt);
  EXPECT_EQ(PatienceWith(Saying(5, 3, true), 8, kAckWait), kPatience);
  // All messages may be in work; lost ones come again.
  EXPECT_EQ(PatienceWith(Saying(0, 3, true), 3, kAckWait), kPatience + kAckWait);
}

TEST(PatienceWith, WhatDoesNotAddUpLastsShortly) {
  EXPECT_EQ(PatienceWith(Saying(0, 3, false), 8, kAckWait), kPatience) << "A replica is behind.";
  EXPECT_EQ(PatienceWith(Saying(5, 0, false), 0, kAckWait), kPatience) << "Nothing is waiting.";
  EXPECT_EQ(PatienceWith(Saying(0, 3, false), 0, kAckWait), kPatience) << "Nothing comes again.";
}

TEST(StallWatch, WhoGivesNothingOfWhatThereIsForTenSecondsIsStalled) {
  StallWatch watch;
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 100 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 109 * kSecond), 0);
  EXPECT_EQ(watch.Look(kOther, kPatience, 7, 111 * kSecond), 0) << "Each has its own time.";
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 110 * kSecond), 1);
}

TEST(StallWatch, WhoGivesSomethingOrHasAllOfItIsNot) {
  StallWatch watch;
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 100 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 8, 110 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 8, 119 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, std::nullopt, 8, 120 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 8, 121 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 8, 130 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 8, 131 * kSecond), 1);
}

TEST(StallWatch, WhatDidNotHelpIsTriedLessAndLess) {
  StallWatch watch;
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 0), 0);
  std::vector<int64_t> tried;
  for (int64_t second = 1; second <= 3000; ++second) {
    if (watch.Look(kShared, kPatience, 7, second * kSecond) > 0) tried.push_back(second);
  }
  EXPECT_THAT(tried, ::testing::ElementsAre(10, 30, 70, 150, 310, 630, 1230, 1830, 2430));
}

TEST(StallWatch, AConsumerThatWasMadeAnewHasGivenNothingYet) {
  StallWatch watch;
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 0), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 10 * kSecond), 1);
  EXPECT_EQ(watch.Look(kShared, kPatience, 7, 30 * kSecond), 2);
  EXPECT_EQ(watch.Look(kShared, kPatience, 0, 40 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 0, 69 * kSecond), 0);
  EXPECT_EQ(watch.Look(kShared, kPatience, 0, 70 * kSecond), 3);
  EXPECT_EQ(watch.Look(kShared, kPatience, 1, 71 * kSecond), 0) << "It gives something.";
  EXPECT_EQ(watch.Look(kShared, kPatience, 1, 81 * kSecond), 1);
}

}  // namespace
}  // namespace attune::nats
