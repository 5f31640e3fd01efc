#include "attune/base/kept_objects.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "attune/base/fork_gate.h"
#include "attune/base/loaded_object.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"libdnnl.so", "libclblast.so", "libLLVM",
                                                    "libclang"};

// Takes the place of __cxa_atexit().
int RegisterNothing(void (*)(void*), void*, void*) { return 0; }

std::vector<uintptr_t> Beginnings(const std::vector<LoadedObject>& objects) {
  std::vector<uintptr_t> beginnings;
  for (const LoadedObject& object : objects) beginnings.push_back(object.begin());
  return beginnings;
}

void Keep(const LoadedObject& object) {
  object.VisitBindings([&](const Binding& binding) {
    if (std::string_view(binding.name) != "__cxa_atexit") return false;
    return object.Overwrite(binding.place, reinterpret_cast<uintptr_t>(&RegisterNothing));
  });
}

// Never destroyed, because threads use it during an exit.
class Keeper {
 public:
  static Keeper& OfThisProcess() {
    static Keeper& keeper = *new Keeper;
    return keeper;
  }

  void LeaveAloneWhatIsLoaded() {
    const ForkGate gate;
    const std::lock_guard lock(mutex_);
    if (!seen_.has_value()) seen_ = Beginnings(LoadedObject::All());
  }

  bool KeepNew() {
    const uint64_t loads = LoadedObject::CountLoads();
    if (loads_seen_.exchange(loads) == loads) return false;
    const ForkGate gate;
    const std::vector<LoadedObject> objects = LoadedObject::All();
    const std::lock_guard lock(mutex_);
    for (const LoadedObject& object : objects) {
      const bool is_named = std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
        return object.soname().starts_with(name);
      });
      const bool is_seen = seen_.has_value() &&
                           std::find(seen_->begin(), seen_->end(), object.begin()) != seen_->end();
      if (is_named && !is_seen) Keep(object);
    }
    seen_ = Beginnings(objects);
    return true;
  }

 private:
  std::atomic<uint64_t> loads_seen_{0};
  std::mutex mutex_;  // Guards the rest.
  std::optional<std::vector<uintptr_t>> seen_;
};

}  // namespace

bool KeepObjectsOfNewLibraries() { return Keeper::OfThisProcess().KeepNew(); }

void KeepForeignObjects() { Keeper::OfThisProcess().LeaveAloneWhatIsLoaded(); }

}  // namespace attune
