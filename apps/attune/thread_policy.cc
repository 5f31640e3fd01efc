#include "apps/attune/thread_policy.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace attune {
namespace {

struct Setting {
  const char* name;
  const char* value;
};

// OPENBLAS_THREAD_TIMEOUT is a power of two of clock cycles: 2^20 is under a millisecond, long
// enough to stay awake between calls that follow each other, where the default 2^26 spins for 20
// ms.
// OMP_PROC_BIND is said aloud, because libxsmm says TRUE where nobody has spoken.
constexpr Setting kSettings[] = {
    {"OMP_WAIT_POLICY", "passive"}, {"OMP_PROC_BIND", "false"}, {"OPENBLAS_THREAD_TIMEOUT", "20"}};

bool IsLoaded(const char* library) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

}  // namespace

void SetThreadWaitPolicy(char** argv) {
  bool changed = false;
  for (const Setting& setting : kSettings) {
    if (std::getenv(setting.name) != nullptr) continue;
    ::setenv(setting.name, setting.value, 0);
    changed = true;
  }
  if (changed && (IsLoaded("libgomp.so.1") || IsLoaded("libomp.so.5"))) {
    // If this fails, the program goes on under the policy that the runtime has read, and the
    // recorded environment of the children is right all the same.
    ::execv("/proc/self/exe", argv);
  }
}

}  // namespace attune
