#include "attune/dispatch/thread_slots.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace attune {

void ThreadSlots::Add(const std::shared_ptr<PlanSlot>& slot) {
  last_ = nullptr;
  Sweep(kSweptPerAdd);
  const size_t mask = places_.size() - 1;
  for (size_t i = slot->hash() & mask; places_[i].mark != kFree; i = (i + 1) & mask) {
    if (places_[i].slot == slot.get()) return;
  }
  if (kPlacesPerMark * (marked_ + 1) > places_.size()) Rebuild();
  Put(slot);
}

void ThreadSlots::Clear() {
  last_ = nullptr;
  Reset(kFewestPlaces);
}

void ThreadSlots::Reset(size_t place_count) {
  places_ = std::vector<Place>(place_count);
  owners_ = std::vector<std::shared_ptr<PlanSlot>>(place_count);
  marked_ = 0;
  swept_ = 0;
}

void ThreadSlots::Sweep(size_t count) {
  for (size_t step = 0; step < count; ++step) {
    swept_ = (swept_ + 1) & (places_.size() - 1);
    PlanSlot*& slot = places_[swept_].slot;
    if (slot == nullptr || !slot->is_retired()) continue;
    slot = nullptr;
    owners_[swept_] = nullptr;
  }
}

void ThreadSlots::Rebuild() {
  Sweep(places_.size());
  auto kept = std::move(owners_);
  std::erase(kept, nullptr);
  const size_t wanted = kPlacesPerMark * (kept.size() + 1);
  // Half as many again, so that the next rebuild is not soon.
  Reset(std::max(kFewestPlaces, std::bit_ceil(wanted + wanted / 2)));
  for (std::shared_ptr<PlanSlot>& slot : kept) Put(std::move(slot));
}

void ThreadSlots::Put(std::shared_ptr<PlanSlot> slot) {
  const size_t mask = places_.size() - 1;
  const uint64_t hash = slot->hash();
  size_t i = hash & mask;
  while (places_[i].slot != nullptr) i = (i + 1) & mask;
  if (places_[i].mark == kFree) ++marked_;
  places_[i] = {MarkOf(hash), slot.get()};
  owners_[i] = std::move(slot);
}

}  // namespace attune
