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
    if (places_[i].slot == slot) return;
  }
  if (2 * (marked_ + 1) > places_.size()) Rebuild();
  Put(slot);
}

void ThreadSlots::Clear() {
  last_ = nullptr;
  places_ = std::vector<Place>(kFewestPlaces);
  marked_ = 0;
  swept_ = 0;
}

void ThreadSlots::Sweep(size_t count) {
  for (size_t step = 0; step < count; ++step) {
    swept_ = (swept_ + 1) & (places_.size() - 1);
    Place& place = places_[swept_];
    if (place.slot != nullptr && place.slot->is_retired()) place.slot = nullptr;
  }
}

void ThreadSlots::Rebuild() {
  Sweep(places_.size());
  std::vector<Place> old = std::move(places_);
  size_t kept = 1;
  for (const Place& place : old) kept += place.slot != nullptr ? 1 : 0;
  places_ = std::vector<Place>(std::max(kFewestPlaces, std::bit_ceil(3 * kept)));
  marked_ = 0;
  for (Place& place : old) {
    if (place.slot != nullptr) Put(std::move(place.slot));
  }
}

void ThreadSlots::Put(std::shared_ptr<PlanSlot> slot) {
  const size_t mask = places_.size() - 1;
  const uint64_t hash = slot->hash();
  size_t i = hash & mask;
  while (places_[i].slot != nullptr) i = (i + 1) & mask;
  if (places_[i].mark == kFree) ++marked_;
  places_[i] = {MarkOf(hash), std::move(slot)};
}

}  // namespace attune
