#include "apps/attune/thread_policy.h"

#include <dlfcn.h>
#include <unistd.h>

#include "backends/host/thread_wait_policy.h"

namespace attune {
namespace {

bool IsLoaded(const char* library) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

}  // namespace

void SetThreadWaitPolicy(char** argv) {
  const bool changed = host::SetThreadWaitPolicy();
  if (changed && (IsLoaded("libgomp.so.1") || IsLoaded("libomp.so.5"))) {
    // If this fails, the program goes on under the policy that the runtime has read, and the
    // recorded environment of the children is right all the same.
    ::execv("/proc/self/exe", argv);
  }
}

}  // namespace attune
