#include "attune/dispatch/plan_cache.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace attune {
namespace {

// 0 stands for "none" in the fast check of each thread.
std::atomic<uint64_t> next_cache_id{1};

// After so many evictions a thread looks through its table for slots that are gone, so that it does
// not keep their memory.
constexpr uint64_t kEvictionsPerSweep = 64;

}  // namespace

// What one thread knows of one cache. Only its thread uses it, but for `hits` and Clear().
class PlanCache::ThreadTable {
 public:
  explicit ThreadTable(std::shared_ptr<Shared> shared) : sets_(kSets), shared_(std::move(shared)) {}
  ~ThreadTable() { shared_->hits_of_ended_threads.fetch_add(hits(), std::memory_order_relaxed); }

  PlanSlot* Find(const PlanKey& key) {
    if (last_ != nullptr && last_->key() == key && !last_->is_retired()) return Count(last_);
    const uint64_t hash = HashOf(key);
    Set& set = sets_[hash % kSets];
    for (size_t way = 0; way < kWays; ++way) {
      if (set.hashes[way] != hash || set.slots[way] == nullptr) continue;
      PlanSlot* slot = set.slots[way].get();
      if (!(slot->key() == key)) continue;
      if (slot->is_retired() || slot->current() == nullptr) return nullptr;
      last_ = slot;
      return Count(slot);
    }
    return nullptr;
  }

  void Remember(const std::shared_ptr<PlanSlot>& slot) {
    Sweep();
    Set& set = sets_[slot->hash() % kSets];
    size_t way = 0;
    while (way < kWays && set.slots[way] != nullptr && !set.slots[way]->is_retired()) ++way;
    if (way == kWays) way = set.next++ % kWays;
    if (set.slots[way].get() == last_) last_ = nullptr;
    set.hashes[way] = slot->hash();
    set.slots[way] = slot;
  }

  Result<BufferView> Workspace(Device& device, size_t size_bytes) {
    if (workspace_ == nullptr || workspace_->size_bytes() < size_bytes) {
      workspace_ = nullptr;
      ATTUNE_ASSIGN_OR_RETURN(workspace_, device.Allocate(size_bytes));
    }
    return workspace_->View(0);
  }

  // Whether the cache is gone.
  bool is_closed() const { return shared_->closed.load(std::memory_order_acquire); }

  // Called once nobody uses the cache any more.
  void Clear() {
    last_ = nullptr;
    workspace_ = nullptr;
    for (Set& set : sets_) set.slots.fill(nullptr);
  }

  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

 private:
  struct Set {
    std::array<uint64_t, kWays> hashes{};
    std::array<std::shared_ptr<PlanSlot>, kWays> slots;
    uint32_t next = 0;  // The way that is given up next.
  };

  PlanSlot* Count(PlanSlot* slot) {
    // One writer: no read-modify-write is needed.
    hits_.store(hits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    slot->Touch();
    return slot;
  }

  void Sweep() {
    const uint64_t evictions = shared_->evictions.load(std::memory_order_relaxed);
    if (evictions - swept_at_ < kEvictionsPerSweep) return;
    swept_at_ = evictions;
    last_ = nullptr;
    for (Set& set : sets_) {
      for (auto& slot : set.slots) {
        if (slot != nullptr && slot->is_retired()) slot = nullptr;
      }
    }
  }

  PlanSlot* last_ = nullptr;  // Of the last hit; in a set.
  std::vector<Set> sets_;
  std::unique_ptr<Buffer> workspace_;
  std::atomic<uint64_t> hits_{0};
  uint64_t swept_at_ = 0;
  const std::shared_ptr<Shared> shared_;
};

// The tables of one thread, by the id of their cache.
struct ThreadTables {
  struct Entry {
    uint64_t cache_id;
    std::shared_ptr<PlanCache::ThreadTable> table;
  };
  std::vector<Entry> entries;
};

namespace {

// Trivial, so that reaching it costs no check of whether it was constructed.
struct LastTable {
  uint64_t cache_id;
  void* table;
};
constinit thread_local LastTable last_table{0, nullptr};

ThreadTables& TablesOfThisThread() {
  thread_local ThreadTables tables;
  return tables;
}

}  // namespace

PlanCache::PlanCache(size_t capacity)
    : capacity_(capacity),
      id_(next_cache_id.fetch_add(1, std::memory_order_relaxed)),
      shared_(std::make_shared<Shared>()) {
  assert(capacity >= 1);
}

PlanCache::~PlanCache() {
  shared_->closed.store(true, std::memory_order_release);
  // Plans must not outlive the backend, so they leave the tables of threads that still live.
  for (const auto& weak : tables_) {
    if (const auto table = weak.lock()) table->Clear();
  }
}

PlanCache::ThreadTable& PlanCache::TableOfThisThread() {
  if (last_table.cache_id == id_) return *static_cast<ThreadTable*>(last_table.table);
  auto& entries = TablesOfThisThread().entries;
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](const auto& entry) { return entry.cache_id == id_; });
  if (found == entries.end()) {
    std::erase_if(entries, [](const auto& entry) { return entry.table->is_closed(); });
    auto table = std::make_shared<ThreadTable>(shared_);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::erase_if(tables_, [](const auto& weak) { return weak.expired(); });
      tables_.push_back(table);
    }
    entries.push_back({id_, std::move(table)});
    found = entries.end() - 1;
  }
  last_table = {id_, found->table.get()};
  return *found->table;
}

PlanSlot* PlanCache::Find(const PlanKey& key) { return TableOfThisThread().Find(key); }

Result<BufferView> PlanCache::Workspace(Device& device, size_t size_bytes) {
  return TableOfThisThread().Workspace(device, size_bytes);
}

std::shared_ptr<PlanSlot> PlanCache::FindOrAdd(const PlanKey& key,
                                               std::shared_ptr<PlanSlot>* evicted) {
  ThreadTable& table = TableOfThisThread();
  std::shared_ptr<PlanSlot> slot;
  std::shared_ptr<PlanSlot> gone;  // Destroyed without the lock.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = slots_.find(&key); found != slots_.end()) {
      slot = found->second;
    } else {
      if (slots_.size() >= capacity_) gone = EvictOne();
      slot = std::make_shared<PlanSlot>(key, HashOf(key));
      slots_.emplace(&slot->key(), slot);
      ring_.push_back(slot);
    }
  }
  slot->Touch();
  table.Remember(slot);
  if (evicted != nullptr) *evicted = std::move(gone);
  return slot;
}

std::shared_ptr<PlanSlot> PlanCache::EvictOne() {
  // Two rounds: the first takes the second chance away, the second finds somebody.
  for (size_t step = 0; step < 2 * ring_.size(); ++step) {
    hand_ = (hand_ + 1) % ring_.size();
    if (ring_[hand_]->is_pinned() || ring_[hand_]->TakeTouched()) continue;
    std::shared_ptr<PlanSlot> slot = std::move(ring_[hand_]);
    slot->Retire();
    slots_.erase(&slot->key());
    if (hand_ + 1 < ring_.size()) ring_[hand_] = std::move(ring_.back());
    ring_.pop_back();
    shared_->evictions.fetch_add(1, std::memory_order_relaxed);
    return slot;
  }
  return nullptr;  // All are pinned.
}

void PlanCache::Remove(const PlanSlot& slot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(ring_.begin(), ring_.end(),
                                  [&](const auto& other) { return other.get() == &slot; });
  if (found == ring_.end()) return;
  (*found)->Retire();
  slots_.erase(&slot.key());
  *found = std::move(ring_.back());
  ring_.pop_back();
}

std::vector<std::shared_ptr<PlanSlot>> PlanCache::Slots() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ring_;
}

bool PlanCache::Contains(const PlanKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = slots_.find(&key);
  return found != slots_.end() && found->second->current() != nullptr;
}

size_t PlanCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return slots_.size();
}

uint64_t PlanCache::hits() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t sum = shared_->hits_of_ended_threads.load(std::memory_order_relaxed);
  for (const auto& weak : tables_) {
    if (const auto table = weak.lock()) sum += table->hits();
  }
  return sum;
}

}  // namespace attune
