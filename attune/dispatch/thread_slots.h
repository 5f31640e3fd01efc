// The slots that one thread knows, in an open-addressed table. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attune/dispatch/plan.h"
#include "attune/dispatch/plan_key.h"

namespace attune {

// For one thread. Grows with the number of slots that are not retired, to at most twelve places
// for each; retired ones are dropped as others are added.
class ThreadSlots {
 public:
  ThreadSlots() { Clear(); }

  // The slot that was found last if its key is that of `parts`; else null.
  PlanSlot* FindAgain(const KeyParts& parts) const {
    return last_ != nullptr && last_->key() == parts && !last_->is_retired() ? last_ : nullptr;
  }

  // The slot of `key` if it is here, serves and has a plan; else null.
  PlanSlot* Find(const PlanKey& key) {
    if (last_ != nullptr && last_->key() == key && !last_->is_retired()) return last_;
    const uint64_t hash = HashOf(key);
    const size_t mask = places_.size() - 1;
    for (size_t i = hash & mask; places_[i].mark != kFree; i = (i + 1) & mask) {
      PlanSlot* slot = places_[i].slot;
      if (places_[i].mark != MarkOf(hash) || slot == nullptr || !(slot->key() == key)) continue;
      if (slot->is_retired()) continue;  // Its successor may stand behind it.
      if (slot->current() == nullptr) return nullptr;
      last_ = slot;
      return slot;
    }
    return nullptr;
  }

  void Add(const std::shared_ptr<PlanSlot>& slot);
  void Clear();

 private:
  static constexpr size_t kFewestPlaces = 64;
  // Of the places so many stay free, that a search rarely meets another slot.
  static constexpr size_t kPlacesPerMark = 4;
  static constexpr uint64_t kFree = 0;
  // So many places are looked at for retired slots with each slot that comes.
  static constexpr size_t kSweptPerAdd = 16;

  // Free, taken, or given up (a mark without a slot), which a search has to pass. Four of them in a
  // cache line: their owners stand apart.
  struct Place {
    uint64_t mark = kFree;
    PlanSlot* slot = nullptr;
  };
  static uint64_t MarkOf(uint64_t hash) { return hash | uint64_t{1} << 63; }

  void Reset(size_t place_count);
  void Sweep(size_t count);
  void Rebuild();
  void Put(std::shared_ptr<PlanSlot> slot);

  PlanSlot* last_ = nullptr;  // Of the last hit; in a place.
  std::vector<Place> places_;
  std::vector<std::shared_ptr<PlanSlot>> owners_;  // Of the slots at the same positions.
  size_t marked_ = 0;                              // Places that are not free.
  size_t swept_ = 0;                               // Where the sweep goes on.
};

}  // namespace attune
