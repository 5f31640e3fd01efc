#include "attune/dispatch/plan_cache.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "attune/dispatch/thread_slots.h"

namespace attune {
namespace {

// 0 stands for "none" in the fast check of each thread.
std::atomic<uint64_t> next_cache_id{1};

}  // namespace

// The tables of one cache. Its mutex orders the end of a thread and the end of the cache, either of
// which empties a table: nothing that a plan needs may go before the plan.
struct PlanCache::Registry {
  std::mutex mutex;  // Guards everything below.
  bool is_closed = false;
  std::vector<ThreadTable*> tables;
  uint64_t hits_of_ended_threads = 0;
  // Of threads that call while they end, after what they own was destroyed.
  std::vector<std::unique_ptr<ThreadTable>> late_tables;
};

// What one thread knows of one cache. Only its thread uses it, but for hits() and Clear().
class PlanCache::ThreadTable {
 public:
  explicit ThreadTable(std::shared_ptr<Registry> registry) : registry_(std::move(registry)) {
    const std::lock_guard<std::mutex> lock(registry_->mutex);
    registry_->tables.push_back(this);
  }
  ~ThreadTable() {
    const std::lock_guard<std::mutex> lock(registry_->mutex);
    registry_->hits_of_ended_threads += hits();
    std::erase(registry_->tables, this);
    Clear();
  }
  ThreadTable(const ThreadTable&) = delete;
  ThreadTable& operator=(const ThreadTable&) = delete;

  PlanSlot* Find(const PlanKey& key) { return NoteHit(slots_.Find(key)); }
  PlanSlot* FindAgain(const KeyParts& parts) { return NoteHit(slots_.FindAgain(parts)); }

  // One writer: no read-modify-write is needed.
  void CountHit() { hits_.store(hits() + 1, std::memory_order_relaxed); }

  void Remember(const std::shared_ptr<PlanSlot>& slot) { slots_.Add(slot); }

  Result<BufferView> Workspace(WorkspaceReserve& reserve, size_t size_bytes) {
    if (workspace_ == nullptr || workspace_->size_bytes() < size_bytes) {
      const size_t current_bytes = workspace_ == nullptr ? 0 : workspace_->size_bytes();
      workspace_ = nullptr;
      ATTUNE_ASSIGN_OR_RETURN(workspace_, reserve.Get(size_bytes, current_bytes));
    }
    return workspace_->View(0);
  }

  bool is_closed() const {
    const std::lock_guard<std::mutex> lock(registry_->mutex);
    return registry_->is_closed;
  }

  // REQUIRES: the registry's mutex is held, and nobody uses the cache any more.
  void Clear() {
    slots_.Clear();
    workspace_ = nullptr;
  }

  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

 private:
  // `slot` may be null.
  PlanSlot* NoteHit(PlanSlot* slot) {
    if (slot != nullptr) {
      CountHit();
      slot->Touch();
    }
    return slot;
  }

  ThreadSlots slots_;
  std::unique_ptr<Buffer> workspace_;
  std::atomic<uint64_t> hits_{0};
  const std::shared_ptr<Registry> registry_;
};

// The tables of one thread, by the id of their cache.
struct PlanCache::ThreadTables {
  struct Entry {
    uint64_t cache_id;
    std::unique_ptr<ThreadTable> table;
  };
  // The one that was used last. Trivial, so that reaching it costs no check of whether it was
  // constructed.
  struct Last {
    uint64_t cache_id;
    ThreadTable* table;
  };
  static constinit thread_local Last last;
  static constinit thread_local bool are_gone;

  ~ThreadTables() {
    last = {0, nullptr};
    are_gone = true;
  }

  static ThreadTables& OfThisThread() {
    thread_local ThreadTables tables;
    return tables;
  }

  std::vector<Entry> entries;
};

// In the first block of thread storage, which costs no call. The definition has to say so, too.
[[gnu::tls_model("initial-exec")]] constinit thread_local PlanCache::ThreadTables::Last
    PlanCache::ThreadTables::last{0, nullptr};
constinit thread_local bool PlanCache::ThreadTables::are_gone = false;

PlanCache::PlanCache(size_t capacity)
    : capacity_(capacity),
      id_(next_cache_id.fetch_add(1, std::memory_order_relaxed)),
      registry_(std::make_shared<Registry>()) {
  assert(capacity >= 1);
}

PlanCache::~PlanCache() {
  std::vector<std::unique_ptr<ThreadTable>> late_tables;
  {
    const std::lock_guard<std::mutex> lock(registry_->mutex);
    registry_->is_closed = true;
    for (ThreadTable* table : registry_->tables) table->Clear();
    late_tables = std::move(registry_->late_tables);
  }
}

[[gnu::always_inline]] inline PlanCache::ThreadTable& PlanCache::TableOfThisThread() {
  if (ThreadTables::last.cache_id == id_) [[likely]]
    return *ThreadTables::last.table;
  return NewTable();
}

PlanCache::ThreadTable& PlanCache::NewTable() {
  if (ThreadTables::are_gone) {
    auto table = std::make_unique<ThreadTable>(registry_);
    ThreadTables::last = {id_, table.get()};
    const std::lock_guard<std::mutex> lock(registry_->mutex);
    registry_->late_tables.push_back(std::move(table));
    return *ThreadTables::last.table;
  }
  auto& entries = ThreadTables::OfThisThread().entries;
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](const auto& entry) { return entry.cache_id == id_; });
  if (found == entries.end()) {
    std::erase_if(entries, [](const auto& entry) { return entry.table->is_closed(); });
    entries.push_back({id_, std::make_unique<ThreadTable>(registry_)});
    found = entries.end() - 1;
  }
  ThreadTables::last = {id_, found->table.get()};
  return *found->table;
}

PlanSlot* PlanCache::Find(const PlanKey& key) { return TableOfThisThread().Find(key); }

PlanSlot* PlanCache::FindAgain(const KeyParts& parts) {
  return TableOfThisThread().FindAgain(parts);
}

void PlanCache::CountHit() { TableOfThisThread().CountHit(); }

Result<BufferView> PlanCache::Workspace(WorkspaceReserve& reserve, size_t size_bytes) {
  return TableOfThisThread().Workspace(reserve, size_bytes);
}

std::shared_ptr<PlanSlot> PlanCache::FindOrAdd(const PlanKey& key, Slots* evicted) {
  Slots gone;  // Destroyed without the lock.
  std::shared_ptr<PlanSlot> slot;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    slot = FindOrAddLocked(key, gone);
  }
  TableOfThisThread().Remember(slot);
  if (evicted != nullptr) *evicted = std::move(gone);
  return slot;
}

std::shared_ptr<PlanSlot> PlanCache::FindOrAddPinned(const PlanKey& key, Slots* evicted) {
  Slots gone;
  std::shared_ptr<PlanSlot> slot;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    slot = FindOrAddLocked(key, gone);
    slot->Pin();
  }
  if (evicted != nullptr) *evicted = std::move(gone);
  return slot;
}

std::shared_ptr<PlanSlot> PlanCache::Peek(const PlanKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = slots_.find(&key);
  return found == slots_.end() ? nullptr : found->second;
}

const std::shared_ptr<PlanSlot>& PlanCache::FindOrAddLocked(const PlanKey& key, Slots& evicted) {
  const auto found = slots_.find(&key);
  if (found != slots_.end()) {
    found->second->Touch();
    return found->second;
  }
  while (slots_.size() >= capacity_) {
    auto gone = EvictOne();
    if (gone == nullptr) break;  // All are pinned.
    evicted.push_back(std::move(gone));
  }
  const auto slot = std::make_shared<PlanSlot>(key, HashOf(key));
  slot->Touch();
  ring_.push_back(slot);
  return slots_.emplace(&slot->key(), slot).first->second;
}

std::shared_ptr<PlanSlot> PlanCache::EvictOne() {
  // Two rounds: the first takes the second chance away, the second finds somebody.
  for (size_t step = 0; step < 2 * ring_.size(); ++step) {
    hand_ = (hand_ + 1) % ring_.size();
    if (ring_[hand_]->is_pinned() || ring_[hand_]->TakeTouched()) continue;
    std::swap(ring_[hand_], ring_.back());
    std::shared_ptr<PlanSlot> slot = std::move(ring_.back());
    ring_.pop_back();
    slot->Retire();
    slots_.erase(&slot->key());
    evictions_.fetch_add(1, std::memory_order_relaxed);
    return slot;
  }
  return nullptr;
}

void PlanCache::Remove(const PlanSlot& slot) {
  std::shared_ptr<PlanSlot> gone;  // Destroyed without the lock.
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(ring_.begin(), ring_.end(),
                                  [&](const auto& other) { return other.get() == &slot; });
  if (found == ring_.end() || slot.is_pinned()) return;
  std::swap(*found, ring_.back());
  gone = std::move(ring_.back());
  ring_.pop_back();
  gone->Retire();
  slots_.erase(&gone->key());
}

PlanCache::Slots PlanCache::AllSlots() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ring_;
}

size_t PlanCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return slots_.size();
}

uint64_t PlanCache::hits() const {
  const std::lock_guard<std::mutex> lock(registry_->mutex);
  uint64_t sum = registry_->hits_of_ended_threads;
  for (const ThreadTable* table : registry_->tables) sum += table->hits();
  return sum;
}

}  // namespace attune
