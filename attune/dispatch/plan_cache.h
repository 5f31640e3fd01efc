// The plans of a run time by key: found without a lock or an allocation, and never more than a
// fixed number of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/dispatch/plan.h"
#include "attune/dispatch/plan_key.h"

namespace attune {

// Every thread keeps the slots that it used last in a table of its own, so a hit reads memory that
// nobody writes. Behind these tables stands one for all threads, under a mutex, which decides what
// is evicted (second chance, in the order of arrival). Thread-safe, but for destruction.
class PlanCache {
 public:
  // A thread remembers so many slots: sets of kWays.
  static constexpr size_t kSets = 512;
  static constexpr size_t kWays = 4;

  // Keeps at most `capacity` slots, pinned ones beyond it. REQUIRES: capacity >= 1.
  explicit PlanCache(size_t capacity);
  // Forgets the tables of all threads. REQUIRES: no call is in progress.
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // The slot of `key` if this thread knows it and it has a plan; else null. What it returns lives
  // until the next call of this thread on this cache.
  PlanSlot* Find(const PlanKey& key);

  // The slot of `key`, made if there is none, perhaps without a plan yet. Remembered for this
  // thread's next Find. `evicted` gets the slot that had to make room, if one had to.
  std::shared_ptr<PlanSlot> FindOrAdd(const PlanKey& key,
                                      std::shared_ptr<PlanSlot>* evicted = nullptr);

  // Whether `key` has a slot with a plan; remembers nothing.
  bool Contains(const PlanKey& key) const;

  // Memory of this thread on `device`, at least `size_bytes`, kept for its next call on this cache.
  // A larger wish replaces it.
  Result<BufferView> Workspace(Device& device, size_t size_bytes);

  // Takes `slot` out: the next FindOrAdd makes a new one.
  void Remove(const PlanSlot& slot);

  // Those that are in the table now.
  std::vector<std::shared_ptr<PlanSlot>> Slots() const;

  size_t size() const;
  uint64_t hits() const;  // Of Find, over all threads, ended ones included.
  uint64_t evictions() const { return shared_->evictions.load(std::memory_order_relaxed); }

 private:
  class ThreadTable;
  // What outlives the cache for the sake of threads that end later.
  struct Shared {
    std::atomic<bool> closed{false};
    std::atomic<uint64_t> evictions{0};
    std::atomic<uint64_t> hits_of_ended_threads{0};
  };
  friend struct ThreadTables;

  ThreadTable& TableOfThisThread();
  std::shared_ptr<PlanSlot> EvictOne();

  struct KeyHash {
    size_t operator()(const PlanKey* key) const { return HashOf(*key); }
  };
  struct KeyEqual {
    bool operator()(const PlanKey* a, const PlanKey* b) const { return *a == *b; }
  };

  const size_t capacity_;
  const uint64_t id_;  // Of no other cache of this process, ever.
  const std::shared_ptr<Shared> shared_;
  mutable std::mutex mutex_;  // Guards everything below.
  // Keys stand in the slots.
  std::unordered_map<const PlanKey*, std::shared_ptr<PlanSlot>, KeyHash, KeyEqual> slots_;
  std::vector<std::shared_ptr<PlanSlot>> ring_;  // All slots; the hand goes round.
  size_t hand_ = 0;
  std::vector<std::weak_ptr<ThreadTable>> tables_;
};

}  // namespace attune
