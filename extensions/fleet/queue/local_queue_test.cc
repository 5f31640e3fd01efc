// Tests that tests/conformance/queue does not cover, because they depend on the clock or on limits.
#include "extensions/fleet/queue/local_queue.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const Channel kChannel{"fake:a:b:1{}", {JobSearch::kPerf, JobWork::kMeasure}};
constexpr int64_t kSecondNs = 1'000'000'000;

QueueTerms Terms() { return {milliseconds(10'000), 2, milliseconds(60'000)}; }

TEST(LocalQueue, AfterTheWindowOfDuplicatesAnIdIsPutThereAgain) {
  int64_t now_ns = 0;
  LocalQueue queue(Terms(), [&] { return now_ns; });
  const std::vector<QueuedJob> jobs = {{1, 0}};
  ASSERT_EQ(queue.Publish(kChannel, jobs).value(), 1);

  now_ns = 59 * kSecondNs;
  EXPECT_EQ(queue.Publish(kChannel, jobs).value(), 0);
  now_ns = 60 * kSecondNs;
  EXPECT_EQ(queue.Publish(kChannel, jobs).value(), 1);
}

TEST(LocalQueue, AMessageIsDueAgainWhenItsTimeIsOverAndNotBefore) {
  int64_t now_ns = 0;
  LocalQueue queue(Terms(), [&] { return now_ns; });
  ASSERT_EQ(queue.Publish(kChannel, std::vector<QueuedJob>{{1, 0}}).value(), 1);
  ASSERT_EQ(queue.Take(kChannel, 1, milliseconds(0))->size(), 1u);

  now_ns = 10 * kSecondNs - 1;
  EXPECT_TRUE(queue.Take(kChannel, 1, milliseconds(0))->empty());
  now_ns = 10 * kSecondNs;
  EXPECT_EQ(queue.Take(kChannel, 1, milliseconds(0))->size(), 1u);
}

TEST(LocalQueue, ATakerThatWaitsIsWokenByWhoPublishes) {
  LocalQueue queue;
  Result<std::vector<Delivery>> taken;
  std::thread taker([&] { taken = queue.Take(kChannel, 1, milliseconds(60'000)); });

  ASSERT_EQ(queue.Publish(kChannel, std::vector<QueuedJob>{{7, 0}}).value(), 1);
  taker.join();

  ASSERT_EQ(taken->size(), 1u);
  EXPECT_EQ(taken->front().job.job_id, 7);
}

TEST(LocalQueue, DeadLettersAreBoundedAndTheOldestGoFirst) {
  LocalQueue queue;
  for (int64_t id = 1; id <= kMostDeadLetters + 2; ++id) {
    ASSERT_EQ(queue.Publish(kChannel, std::vector<QueuedJob>{{id, 0}}).value(), 1);
    ASSERT_EQ(queue.Bury(queue.Take(kChannel, 1, milliseconds(0))->front(), "no"), Status::Ok());
  }

  const auto dead = queue.DeadLetters(kChannel);

  ASSERT_EQ(std::ssize(*dead), kMostDeadLetters);
  EXPECT_EQ(dead->front().job.job_id, 3);
}

TEST(QueueTerms, HaveToBePositive) {
  EXPECT_EQ(CheckTerms({}), Status::Ok());
  EXPECT_EQ(CheckTerms({milliseconds(0)}).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(CheckTerms({milliseconds(1), 0}).message(), HasSubstr("0 deliveries"));
}

}  // namespace
}  // namespace attune
