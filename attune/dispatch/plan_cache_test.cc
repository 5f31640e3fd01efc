#include "attune/dispatch/plan_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <optional>
#include <thread>

#include "attune/dispatch/step_watch.h"
#include "attune/dispatch/test_solvers.h"

namespace attune {
namespace {

PlanKey Key(uint64_t number) {
  PlanKey key;
  key.Append(number);
  key.Append(uint64_t{0});
  return key;
}

// Counts how many live.
class LiveExecutable final : public Executable {
 public:
  explicit LiveExecutable(std::atomic<int>& live) : live_(live) { ++live_; }
  ~LiveExecutable() override { --live_; }
  size_t workspace_bytes() const override { return 0; }
  bool is_concurrent() const override { return true; }
  Status Run(const Arguments&) override { return Status::Ok(); }

 private:
  std::atomic<int>& live_;
};

// Other than Find, it remembers nothing.
bool HasPlan(const PlanCache& cache, const PlanKey& key) {
  const PlanCache::Slots slots = cache.AllSlots();
  return std::any_of(slots.begin(), slots.end(), [&](const auto& slot) {
    return slot->key() == key && slot->current() != nullptr;
  });
}

class PlanCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<Plan> NewPlan() {
    return std::make_unique<Plan>(ProductOf(1, 1, 1), 0, Option(),
                                  std::make_unique<LiveExecutable>(live_));
  }
  std::shared_ptr<PlanSlot> AddPlan(PlanCache& cache, uint64_t number) {
    auto slot = cache.FindOrAdd(Key(number));
    if (slot->current() == nullptr) slot->Publish(NewPlan());
    return slot;
  }

  std::atomic<int> live_{0};
};

TEST_F(PlanCacheTest, AKeyIsNotFoundBeforeItWasAdded) {
  PlanCache cache(8);

  EXPECT_EQ(cache.Find(Key(1)), nullptr);
  EXPECT_EQ(cache.hits(), 0U);
}

TEST_F(PlanCacheTest, ASlotWithoutAPlanIsNotFound) {
  PlanCache cache(8);
  cache.FindOrAdd(Key(1));

  EXPECT_EQ(cache.Find(Key(1)), nullptr);
  EXPECT_FALSE(HasPlan(cache, Key(1)));
}

TEST_F(PlanCacheTest, WhatWasAddedIsFoundAndCounted) {
  PlanCache cache(8);
  const auto slot = AddPlan(cache, 1);

  EXPECT_EQ(cache.Find(Key(1)), slot.get());
  EXPECT_EQ(cache.Find(Key(1)), slot.get());
  EXPECT_EQ(cache.hits(), 2U);
  EXPECT_TRUE(HasPlan(cache, Key(1)));
}

TEST_F(PlanCacheTest, WhatWasFoundLastIsFoundAgainByItsPartsAndCounted) {
  PlanCache cache(2);
  const PlanKey words = Key(1);
  const KeyParts parts = {words.words.data(), words.size, {3, 4}};
  PlanKey key = words;
  key.Append(uint64_t{3});
  key.Append(uint64_t{4});
  const auto slot = cache.FindOrAdd(key);
  slot->Publish(NewPlan());
  AddPlan(cache, 2);

  EXPECT_EQ(cache.FindAgain(parts), nullptr);
  EXPECT_EQ(cache.Find(key), slot.get());
  EXPECT_EQ(cache.FindAgain(parts), slot.get());
  EXPECT_EQ(cache.hits(), 2U);
  cache.Find(Key(2));
  EXPECT_EQ(cache.FindAgain(parts), nullptr);
  cache.Find(key);
  cache.Remove(*slot);
  EXPECT_EQ(cache.FindAgain(parts), nullptr);
}

TEST_F(PlanCacheTest, AllOfManySlotsAreFoundByTheirThread) {
  constexpr uint64_t kMany = 5000;
  PlanCache cache(kMany);
  for (uint64_t i = 0; i < kMany; ++i) AddPlan(cache, i);

  for (uint64_t i = 0; i < kMany; ++i) {
    ASSERT_NE(cache.Find(Key(i)), nullptr) << i;
    ASSERT_TRUE(cache.Find(Key(i))->key() == Key(i)) << i;
  }
}

TEST_F(PlanCacheTest, AnotherThreadGetsTheSameSlot) {
  PlanCache cache(8);
  const auto slot = AddPlan(cache, 1);

  std::thread([&] {
    EXPECT_EQ(cache.Find(Key(1)), nullptr);  // It never asked for it.
    EXPECT_EQ(cache.FindOrAdd(Key(1)), slot);
    EXPECT_EQ(cache.Find(Key(1)), slot.get());
  }).join();
}

TEST_F(PlanCacheTest, AnEndlessStreamOfShapesStaysWithinTheCapacity) {
  constexpr size_t kCapacity = 64;
  constexpr uint64_t kShapes = 20'000;
  PlanCache cache(kCapacity);

  int most_alive = 0;
  for (uint64_t i = 0; i < kShapes; ++i) {
    AddPlan(cache, i);
    most_alive = std::max(most_alive, live_.load());
  }

  EXPECT_EQ(cache.size(), kCapacity);
  EXPECT_EQ(cache.evictions(), kShapes - kCapacity);
  // This thread gives up what was evicted with a delay, which is bounded.
  EXPECT_LE(most_alive, 8 * static_cast<int>(kCapacity));
}

TEST_F(PlanCacheTest, WhatIsUsedAllTheTimeIsNotEvicted) {
  PlanCache cache(16);
  const auto favourite = AddPlan(cache, 0);

  for (uint64_t i = 1; i < 1000; ++i) {
    AddPlan(cache, i);
    ASSERT_EQ(cache.Find(Key(0)), favourite.get()) << i;
  }
}

TEST_F(PlanCacheTest, ASlotWithoutUseIsEvictedBeforeOneWithUse) {
  PlanCache cache(2);
  AddPlan(cache, 1);
  AddPlan(cache, 2);
  AddPlan(cache, 3);  // Takes the second chance of all away and evicts one.
  cache.Find(Key(3));
  const bool one_is_left = HasPlan(cache, Key(1));
  cache.Find(Key(one_is_left ? 1 : 2));
  AddPlan(cache, 4);
  AddPlan(cache, 5);

  EXPECT_EQ(cache.size(), 2U);
  EXPECT_TRUE(HasPlan(cache, Key(5)));
}

TEST_F(PlanCacheTest, AnEvictedSlotIsServedNoMore) {
  PlanCache cache(1);
  AddPlan(cache, 1);
  PlanCache::Slots evicted;

  cache.FindOrAdd(Key(2), &evicted);

  ASSERT_EQ(evicted.size(), 1U);
  EXPECT_TRUE(evicted.front()->is_retired());
  EXPECT_TRUE(evicted.front()->key() == Key(1));
  EXPECT_EQ(cache.Find(Key(1)), nullptr);
}

TEST_F(PlanCacheTest, AKeyThatComesBackAfterItsEvictionIsFoundInItsNewSlot) {
  PlanCache cache(1);
  const auto first = AddPlan(cache, 1);
  AddPlan(cache, 2);

  const auto second = AddPlan(cache, 1);

  EXPECT_NE(first, second);
  EXPECT_EQ(cache.Find(Key(1)), second.get());
}

TEST_F(PlanCacheTest, APinnedSlotStaysHoweverManyCome) {
  PlanCache cache(4);
  const auto pinned = cache.FindOrAddPinned(Key(0));
  pinned->Publish(NewPlan());

  for (uint64_t i = 1; i < 500; ++i) AddPlan(cache, i);

  EXPECT_FALSE(pinned->is_retired());
  EXPECT_TRUE(HasPlan(cache, Key(0)));
}

TEST_F(PlanCacheTest, PinnedSlotsMayExceedTheCapacityUntilTheyAreGivenBack) {
  PlanCache cache(4);
  PlanCache::Slots pinned;
  for (uint64_t i = 0; i < 10; ++i) pinned.push_back(cache.FindOrAddPinned(Key(i)));
  EXPECT_EQ(cache.size(), 10U);

  for (const auto& slot : pinned) slot->Unpin();
  AddPlan(cache, 100);

  EXPECT_EQ(cache.size(), 4U);
}

TEST_F(PlanCacheTest, ARemovedSlotIsReplacedByANewOne) {
  PlanCache cache(4);
  const auto first = AddPlan(cache, 1);

  cache.Remove(*first);

  EXPECT_TRUE(first->is_retired());
  EXPECT_EQ(cache.Find(Key(1)), nullptr);
  EXPECT_NE(AddPlan(cache, 1), first);
  EXPECT_EQ(cache.evictions(), 0U);
}

TEST_F(PlanCacheTest, APinnedSlotIsNotRemoved) {
  PlanCache cache(4);
  const auto pinned = cache.FindOrAddPinned(Key(1));
  pinned->Publish(NewPlan());

  cache.Remove(*pinned);

  EXPECT_FALSE(pinned->is_retired());
  EXPECT_TRUE(HasPlan(cache, Key(1)));
}

TEST_F(PlanCacheTest, AThreadThatEndsGivesItsPlansBackAndItsHitsStay) {
  PlanCache cache(1);
  std::thread([&] {
    AddPlan(cache, 1);
    cache.Find(Key(1));
  }).join();
  AddPlan(cache, 2);

  EXPECT_EQ(live_, 1);  // The evicted one died with the table of its thread.
  EXPECT_EQ(cache.hits(), 1U);
}

TEST_F(PlanCacheTest, ACacheThatGoesTakesItsPlansOutOfLivingThreads) {
  auto cache = std::make_optional<PlanCache>(8);
  std::latch added(1);
  std::latch gone(1);
  std::thread other([&] {
    AddPlan(*cache, 1);
    added.count_down();
    gone.wait();
  });
  added.wait();

  cache.reset();

  EXPECT_EQ(live_, 0);
  gone.count_down();
  other.join();
}

TEST_F(PlanCacheTest, SeveralCachesInOneThreadDoNotMix) {
  PlanCache one(8);
  PlanCache two(8);
  const auto of_one = AddPlan(one, 1);
  const auto of_two = AddPlan(two, 1);

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.Find(Key(1)), of_one.get());
    EXPECT_EQ(two.Find(Key(1)), of_two.get());
  }
  EXPECT_EQ(one.hits(), 3U);
}

TEST_F(PlanCacheTest, ANewCacheNeverMeetsThePlansOfAnOldOne) {
  for (int i = 0; i < 100; ++i) {
    PlanCache cache(8);
    ASSERT_EQ(cache.Find(Key(1)), nullptr);
    AddPlan(cache, 1);
    ASSERT_NE(cache.Find(Key(1)), nullptr);
  }
  EXPECT_EQ(live_, 0);
}

// Uses a cache when its thread's own storage is being taken down.
struct LateCaller {
  std::function<void()> call;
  ~LateCaller() {
    if (call) call();
  }
};

TEST_F(PlanCacheTest, AThreadMayCallWhileItsStorageIsTakenDown) {
  PlanCache cache(8);
  AddPlan(cache, 1);
  PlanSlot* found = nullptr;

  std::thread([&] {
    static thread_local LateCaller late;  // Constructed first, so destroyed last.
    late.call = [&] {
      AddPlan(cache, 1);
      found = cache.Find(Key(1));
    };
    AddPlan(cache, 1);
  }).join();

  EXPECT_EQ(found, cache.Find(Key(1)));
  EXPECT_EQ(cache.hits(), 2U);
}

TEST_F(PlanCacheTest, AHitAllocatesNothingAndTakesNoLock) {
  constexpr uint64_t kShapes = 1000;
  PlanCache cache(4096);
  for (uint64_t i = 0; i < kShapes; ++i) AddPlan(cache, i);
  for (uint64_t i = 0; i < kShapes; ++i) cache.Find(Key(i));

  const uint64_t allocations = AllocationsOfThisThread();
  const uint64_t locks = LocksOfThisThread();
  uint64_t found = 0;
  for (uint64_t i = 0; i < 10 * kShapes; ++i) found += cache.Find(Key(i % kShapes)) != nullptr;

  EXPECT_EQ(found, 10 * kShapes);
  EXPECT_EQ(AllocationsOfThisThread(), allocations);
  EXPECT_EQ(LocksOfThisThread(), locks);
}

TEST_F(PlanCacheTest, TheCountsOfAllocationsAndLocksSeeAMiss) {
  PlanCache cache(4096);
  const uint64_t allocations = AllocationsOfThisThread();
  const uint64_t locks = LocksOfThisThread();

  AddPlan(cache, 1);

  EXPECT_GT(AllocationsOfThisThread(), allocations);
  EXPECT_GT(LocksOfThisThread(), locks);
}

TEST_F(PlanCacheTest, TheWorkspaceOfAThreadIsKeptAndGrows) {
  PlanCache cache(8);
  TestDevice device;
  WorkspaceReserve reserve(device, WorkspaceReserve::Spares::kNone);

  void* const first = cache.Workspace(reserve, 1000)->handle;
  EXPECT_EQ(cache.Workspace(reserve, 500)->handle, first);
  EXPECT_EQ(device.allocations.all(), 1);
  ASSERT_TRUE(cache.Workspace(reserve, 2000).ok());
  EXPECT_EQ(device.allocations.all(), 2);
}

TEST_F(PlanCacheTest, TwoThreadsHaveWorkspacesOfTheirOwn) {
  PlanCache cache(8);
  TestDevice device;
  WorkspaceReserve reserve(device, WorkspaceReserve::Spares::kNone);
  void* const mine = cache.Workspace(reserve, 1000)->handle;

  void* theirs = nullptr;
  std::thread([&] { theirs = cache.Workspace(reserve, 1000)->handle; }).join();

  EXPECT_NE(theirs, mine);
  EXPECT_EQ(device.allocations.all(), 2);
}

TEST_F(PlanCacheTest, ASlotKeepsItsOldPlansForWhoStillRunsThem) {
  PlanCache cache(8);
  const auto slot = AddPlan(cache, 1);
  Plan* const old = slot->current();

  EXPECT_TRUE(slot->Publish(NewPlan()));

  EXPECT_NE(slot->current(), old);
  EXPECT_TRUE(old->Run({}).ok());
  EXPECT_EQ(live_, 2);
}

TEST_F(PlanCacheTest, ASlotTakesSoManyPlansAndNoMore) {
  PlanCache cache(8);
  const auto slot = AddPlan(cache, 1);
  for (size_t i = 1; i < PlanSlot::kMaxVersions; ++i) ASSERT_TRUE(slot->Publish(NewPlan()));
  Plan* const last = slot->current();

  EXPECT_FALSE(slot->Publish(NewPlan()));

  EXPECT_EQ(slot->current(), last);
}

}  // namespace
}  // namespace attune
