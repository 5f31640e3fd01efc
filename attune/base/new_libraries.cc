#include "attune/base/new_libraries.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "attune/base/loaded_object.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"libdnnl.so", "libclblast.so", "libLLVM",
                                                    "libclang"};

bool IsNamed(const LoadedObject& object) {
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return object.soname().starts_with(name); });
}

// Takes the place of __cxa_atexit().
int RegisterNothing(void (*)(void*), void*, void*) { return 0; }

void LetRegisterNothing(const LoadedObject& object) {
  object.VisitBindings([&](const Binding& binding) {
    if (std::string_view(binding.name) != "__cxa_atexit") return false;
    return object.Overwrite(binding.place, reinterpret_cast<uintptr_t>(&RegisterNothing));
  });
}

}  // namespace

NewLibraries::NewLibraries() {
  for (const LoadedObject& object : LoadedObject::All()) loaded_before_.push_back(object.begin());
}

void NewLibraries::KeepStaticObjects() const {
  for (const LoadedObject& object : LoadedObject::All()) {
    const bool is_new = std::find(loaded_before_.begin(), loaded_before_.end(), object.begin()) ==
                        loaded_before_.end();
    if (is_new && IsNamed(object)) LetRegisterNothing(object);
  }
}

}  // namespace attune
