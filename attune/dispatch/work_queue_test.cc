#include "attune/dispatch/work_queue.h"

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <vector>

namespace attune {
namespace {

using ::testing::ElementsAre;

constexpr std::chrono::seconds kLongEnough(60);

TEST(WorkQueueTest, TasksRunInOrderAndNotInTheCaller) {
  std::vector<int> order;
  std::thread::id worker;
  WorkQueue queue(8);

  EXPECT_TRUE(queue.Push([&] { worker = std::this_thread::get_id(); }));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Push([&order, i] { order.push_back(i); }));

  ASSERT_TRUE(queue.WaitIdle(kLongEnough));
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(WorkQueueTest, AnEmptyQueueIsIdle) {
  WorkQueue queue(1);

  EXPECT_TRUE(queue.WaitIdle(std::chrono::seconds(0)));
}

TEST(WorkQueueTest, AFullQueueTakesNothing) {
  std::latch begun(1);
  std::latch go_on(1);
  WorkQueue queue(2);
  ASSERT_TRUE(queue.Push([&] {
    begun.count_down();
    go_on.wait();
  }));
  begun.wait();

  EXPECT_TRUE(queue.Push([] {}));
  EXPECT_TRUE(queue.Push([] {}));
  EXPECT_FALSE(queue.Push([] {}));
  EXPECT_FALSE(queue.WaitIdle(std::chrono::nanoseconds(1)));

  go_on.count_down();
  EXPECT_TRUE(queue.WaitIdle(kLongEnough));
}

TEST(WorkQueueTest, TheEndFinishesTheTaskInProgressAndDropsTheOthers) {
  std::latch begun(1);
  std::latch go_on(1);
  std::atomic<int> finished{0};
  auto owned = std::make_unique<WorkQueue>(1 << 20);
  WorkQueue* const queue = owned.get();
  ASSERT_TRUE(queue->Push([&] {
    begun.count_down();
    go_on.wait();
    ++finished;
  }));
  begun.wait();
  ASSERT_TRUE(queue->Push([&] { finished += 100; }));

  std::thread closer([&] { owned.reset(); });
  // The task ends only once the end has begun, which is when the queue takes nothing more.
  while (queue->Push([] {})) std::this_thread::yield();
  go_on.count_down();
  closer.join();

  EXPECT_EQ(finished, 1);
}

TEST(WorkQueueTest, AStopSaysWhetherTheTaskInProgressEndedInTime) {
  std::latch begun(1);
  std::latch go_on(1);
  WorkQueue queue(8);
  ASSERT_TRUE(queue.Push([&] {
    begun.count_down();
    go_on.wait();
  }));
  begun.wait();

  EXPECT_FALSE(queue.Stop(std::chrono::nanoseconds(1)));
  EXPECT_FALSE(queue.Push([] {}));
  go_on.count_down();
  EXPECT_TRUE(queue.Stop(kLongEnough));
  EXPECT_TRUE(queue.Stop(kLongEnough));
}

TEST(WorkQueueTest, ATaskBeginsOnceItIsNoLongerHeld) {
  std::atomic<int> asked{0};
  std::latch begun(1);
  WorkQueue queue(8, [&](int64_t) { return std::chrono::nanoseconds(++asked < 4 ? 1 : 0); });

  ASSERT_TRUE(queue.Push([&] { begun.count_down(); }));
  begun.wait();

  EXPECT_EQ(asked, 4);
}

TEST(WorkQueueTest, WhileSomebodyWaitsForItNothingIsHeld) {
  WorkQueue queue(8, [](int64_t) { return std::chrono::hours(1); });
  std::atomic<bool> has_run{false};
  ASSERT_TRUE(queue.Push([&] { has_run = true; }));

  EXPECT_TRUE(queue.WaitIdle(kLongEnough));

  EXPECT_TRUE(has_run);
}

TEST(WorkQueueTest, AQueueThatHoldsATaskCanEnd) {
  std::atomic<bool> has_run{false};
  {
    WorkQueue queue(8, [](int64_t) { return std::chrono::hours(1); });
    ASSERT_TRUE(queue.Push([&] { has_run = true; }));
  }

  EXPECT_FALSE(has_run);
}

TEST(WorkQueueTest, SignalsOfTheProgramAreNotForItsThread) {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  WorkQueue queue(1);

  ASSERT_TRUE(queue.Push([&] { ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked); }));
  ASSERT_TRUE(queue.WaitIdle(kLongEnough));

  EXPECT_EQ(::sigismember(&blocked, SIGINT), 1);
  EXPECT_EQ(::sigismember(&blocked, SIGALRM), 1);
}

}  // namespace
}  // namespace attune
