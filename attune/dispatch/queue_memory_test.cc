#include "attune/dispatch/queue_memory.h"

#include <array>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "attune/dispatch/test_solvers.h"

namespace attune {
namespace {

class QueueMemoryTest : public ::testing::Test {
 protected:
  void* WorkspaceOf(QueueState state, size_t size_bytes) {
    return WorkspaceOn(queue_, state, size_bytes);
  }
  void* WorkspaceOn(int& queue, QueueState state, size_t size_bytes) {
    const auto view = memory_.Workspace(&queue, state, size_bytes);
    return view.ok() ? view->handle : nullptr;
  }
  // A plan that nobody has but the memory, for a graph that is being recorded.
  std::weak_ptr<Plan> KeptFor(uint64_t recording) {
    auto plan = std::make_shared<Plan>(ProductOf(4, 4, 4), 0, Internal("None."));
    memory_.Keep(&queue_, {0, recording}, plan);
    return plan;
  }

  // Only their addresses count.
  int queue_ = 0;
  int other_queue_ = 0;

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

TEST_F(QueueMemoryTest, QueuesOfManyIdsKeepWhatTheyHave) {
  std::vector<void*> workspaces;
  for (uint64_t id = 1; id <= 40; ++id) workspaces.push_back(WorkspaceOf({id, 0}, 1000));

  for (uint64_t id = 1; id <= 40; ++id) EXPECT_EQ(WorkspaceOf({id, 0}, 900), workspaces[id - 1]);
  for (uint64_t id = 40; id >= 1; --id) EXPECT_EQ(WorkspaceOf({id, 0}, 900), workspaces[id - 1]);

  EXPECT_EQ(std::set<void*>(workspaces.begin(), workspaces.end()).size(), 40U);
  EXPECT_EQ(device_.allocations.all(), 40);
}

TEST_F(QueueMemoryTest, ThreadsOnOneQueueAndOnOthersGetWhatIsTheirs) {
  std::vector<std::thread> threads;
  std::array<std::set<void*>, 4> seen;
  for (size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] {
      // Two queues whose ids meet in one place of what is read without the lock.
      const QueueState state{1 + 16 * (i % 2), 0};
      for (int call = 0; call < 1000; ++call) {
        seen[i].insert(memory_.Workspace(&queue_, state, 1000)->handle);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const auto& workspaces : seen) EXPECT_EQ(workspaces.size(), 1U);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[1], seen[3]);
  EXPECT_NE(seen[0], seen[1]);
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

TEST_F(QueueMemoryTest, QueuesThatAreRecordedIntoOneGraphShareNothing) {
  EXPECT_NE(WorkspaceOn(queue_, {0, 7}, 1000), WorkspaceOn(other_queue_, {0, 7}, 1000));
}

TEST_F(QueueMemoryTest, APlanThatIsRecordedOutlivesItsSlot) {
  const std::weak_ptr<Plan> kept = KeptFor(7);
  const std::weak_ptr<Plan> kept_next = KeptFor(8);

  EXPECT_FALSE(kept.expired());
  EXPECT_FALSE(kept_next.expired());
}

TEST_F(QueueMemoryTest, WhatAGraphUsedIsGivenBackAtTheNextCaptureOnceTheGraphIsGone) {
  device_.tells_when_over = true;
  const std::weak_ptr<Plan> kept = KeptFor(7);
  const std::weak_ptr<Plan> kept_beside = KeptFor(8);
  ASSERT_EQ(device_.graphs.size(), 2u);
  void* workspace = WorkspaceOf({0, 8}, 1000);

  device_.graphs.front()->store(true);
  const bool was_kept_until_then = !kept.expired();
  const std::weak_ptr<Plan> kept_next = KeptFor(9);

  EXPECT_TRUE(was_kept_until_then);
  EXPECT_TRUE(kept.expired());
  EXPECT_FALSE(kept_beside.expired());
  EXPECT_EQ(WorkspaceOf({0, 8}, 1000), workspace);
}

TEST_F(QueueMemoryTest, AGraphIsAskedAboutOnce) {
  device_.tells_when_over = true;

  (void)KeptFor(7);
  (void)KeptFor(7);

  EXPECT_EQ(device_.graphs.size(), 1u);
}

}  // namespace
}  // namespace attune
