#include "attune/dispatch/queue_memory.h"

#include <memory>

#include <gtest/gtest.h>

#include "attune/dispatch/test_solvers.h"

namespace attune {
namespace {

class QueueMemoryTest : public ::testing::Test {
 protected:
  void* WorkspaceOf(QueueState queue, size_t size_bytes) {
    const auto view = memory_.Workspace(queue, size_bytes);
    return view.ok() ? view->handle : nullptr;
  }

  TestDevice device_;
  QueueMemory memory_{device_};
};

TEST_F(QueueMemoryTest, TheLaunchesOfAQueueShareTheirWorkspace) {
  void* first = WorkspaceOf({1, 0}, 1000);
  void* second = WorkspaceOf({1, 0}, 5000);

  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, second);
  EXPECT_EQ(device_.allocations.all(), 1);
}

TEST_F(QueueMemoryTest, TwoQueuesShareNothing) {
  EXPECT_NE(WorkspaceOf({1, 0}, 1000), WorkspaceOf({2, 0}, 1000));
}

TEST_F(QueueMemoryTest, WhatIsRecordedSharesNothingWithWhatIsExecuted) {
  void* executed = WorkspaceOf({1, 0}, 1000);
  void* recorded = WorkspaceOf({1, 7}, 1000);
  void* recorded_next = WorkspaceOf({1, 8}, 1000);

  EXPECT_NE(executed, recorded);
  EXPECT_NE(recorded, recorded_next);
  EXPECT_EQ(WorkspaceOf({1, 7}, 1000), recorded);
}

TEST_F(QueueMemoryTest, AWishForMoreDoublesAndTheOldOneStaysForWhatRunsInIt) {
  auto* old = static_cast<std::byte*>(WorkspaceOf({1, 0}, 1000));
  *old = std::byte{42};

  void* larger = WorkspaceOf({1, 0}, QueueMemory::kLeastBytes + 1);

  EXPECT_NE(larger, old);
  EXPECT_EQ(*old, std::byte{42});
  // Room for twice as much was made.
  EXPECT_EQ(WorkspaceOf({1, 0}, 2 * QueueMemory::kLeastBytes), larger);
}

TEST_F(QueueMemoryTest, APlanThatIsRecordedOutlivesItsSlot) {
  auto plan = std::make_shared<Plan>(ProductOf(4, 4, 4), 0, Internal("None."));
  const std::weak_ptr<Plan> watched = plan;
  memory_.Keep(plan);
  memory_.Keep(plan);

  plan.reset();

  EXPECT_FALSE(watched.expired());
}

}  // namespace
}  // namespace attune
