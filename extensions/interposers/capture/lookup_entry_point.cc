// Programs that look up functions of OpenCL or CUDA by name (dlsym) get those of this library;
// LD_PRELOAD alone would not provide them.

#include <dlfcn.h>

#include <cstring>
#include <initializer_list>

#include "extensions/interposers/preload/lookup.h"

namespace attune::capture {
namespace {

using Lookup = void*(void*, const char*);

// The C library's dlsym(), under the versions that it has on current machines.
Lookup* RealLookup() {
  static Lookup* const real = [] {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
      if (void* found = ::dlvsym(RTLD_NEXT, "dlsym", version)) {
        return reinterpret_cast<Lookup*>(found);
      }
    }
    return static_cast<Lookup*>(nullptr);
  }();
  return real;
}

bool IsOfInterest(const char* name) {
  return name != nullptr && (std::strncmp(name, "cl", 2) == 0 || std::strncmp(name, "cu", 2) == 0 ||
                             std::strncmp(name, "nvrtc", 5) == 0);
}

// The interposer's function of that name, if `handle` has that of another library.
void* OursInstead(void* handle, const char* name, const void* caller) {
  static const interposer::CodeRange ours =
      interposer::RangeAround(reinterpret_cast<const void*>(&OursInstead));
  if (handle == RTLD_NEXT || ours.contains(caller) || RealLookup()(handle, name) == nullptr) {
    return nullptr;
  }
  void* const found = RealLookup()(RTLD_DEFAULT, name);
  return ours.contains(found) ? found : nullptr;
}

}  // namespace
}  // namespace attune::capture

// The last call is a jump, so that the real dlsym() sees the original caller: RTLD_NEXT depends on
// it.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  using namespace attune::capture;
  if (IsOfInterest(name)) {
    void* const ours = OursInstead(handle, name, __builtin_return_address(0));
    if (ours != nullptr) return ours;
  }
  return RealLookup()(handle, name);
}
