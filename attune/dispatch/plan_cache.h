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
#include "attune/dispatch/workspace_reserve.h"

namespace attune {

// Every thread keeps the slots that it used in a table of its own, so a hit reads memory that
// nobody writes. Behind these tables stands one for all threads, under a mutex, which decides what
// is evicted (second chance, in the order of arrival). A thread gives up what was evicted little by
// little as it gets new slots. Thread-safe, but for destruction.
class PlanCache {
 public:
  using Slots = std::vector<std::shared_ptr<PlanSlot>>;

  // Keeps at most `capacity` slots, pinned ones beyond it. REQUIRES: capacity >= 1.
  explicit PlanCache(size_t capacity);
  // Empties the tables of all threads; threads may end meanwhile. REQUIRES: no call is in progress.
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // The slot of `key` if this thread knows it and it has a plan; else null. What it returns lives
  // until the next call of this thread on this cache.
  PlanSlot* Find(const PlanKey& key);
  // The same for the key that this thread found last, which need not be put together; else null.
  PlanSlot* FindAgain(const KeyParts& parts);

  // The slot of `key`, made if there is none, perhaps without a plan yet. Remembered for this
  // thread's next Find. `evicted` (may be null) gets the slots that had to make room.
  std::shared_ptr<PlanSlot> FindOrAdd(const PlanKey& key, Slots* evicted = nullptr);
  // The same, pinned before anybody could evict it. To be given back with PlanSlot::Unpin.
  std::shared_ptr<PlanSlot> FindOrAddPinned(const PlanKey& key, Slots* evicted = nullptr);

  // The slot of `key` if there is one, whoever made it; else null. Nothing is remembered of it.
  std::shared_ptr<PlanSlot> Peek(const PlanKey& key) const;

  // A plan was at hand, though Find did not know it.
  void CountHit();

  // Memory of this thread out of `reserve`, at least `size_bytes`, kept for its next call on this
  // cache. A larger wish replaces it.
  Result<BufferView> Workspace(WorkspaceReserve& reserve, size_t size_bytes);

  // Takes `slot` out unless it is pinned: the next FindOrAdd makes a new one.
  void Remove(const PlanSlot& slot);

  // Those that are in the table now.
  Slots AllSlots() const;

  size_t size() const;
  uint64_t hits() const;  // Over all threads, ended ones included.
  uint64_t evictions() const { return evictions_.load(std::memory_order_relaxed); }

 private:
  class ThreadTable;
  struct ThreadTables;
  struct Registry;

  ThreadTable& TableOfThisThread();
  ThreadTable& NewTable();
  // Under mutex_.
  const std::shared_ptr<PlanSlot>& FindOrAddLocked(const PlanKey& key, Slots& evicted);
  std::shared_ptr<PlanSlot> EvictOne();

  struct KeyHash {
    size_t operator()(const PlanKey* key) const { return HashOf(*key); }
  };
  struct KeyEqual {
    bool operator()(const PlanKey* a, const PlanKey* b) const { return *a == *b; }
  };

  const size_t capacity_;
  const uint64_t id_;  // Of no other cache of this process, ever.
  // Shared with the tables of threads, which may end after this cache.
  const std::shared_ptr<Registry> registry_;
  std::atomic<uint64_t> evictions_{0};
  mutable std::mutex mutex_;  // Guards everything below.
  // Keys stand in the slots.
  std::unordered_map<const PlanKey*, std::shared_ptr<PlanSlot>, KeyHash, KeyEqual> slots_;
  Slots ring_;  // All slots; the hand goes round.
  size_t hand_ = 0;
};

}  // namespace attune
