// Tells ThreadSanitizer of the host program, if any, which memory accesses the atomics of this
// library order. ThreadSanitizer does not see them, because the library is compiled without it. It
// does see the writes of memset() and similar functions.
#pragma once

#include <dlfcn.h>

namespace attune::host {

// A value. What happens before Release() of an address happens before a later Acquire() of it.
class RaceDetector {
 public:
  RaceDetector()
      : acquire_(reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, "__tsan_acquire"))),
        release_(reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, "__tsan_release"))) {}

  void Acquire(void* address) const {
    if (acquire_ != nullptr) [[unlikely]]
      acquire_(address);
  }
  void Release(void* address) const {
    if (release_ != nullptr) [[unlikely]]
      release_(address);
  }

 private:
  using Function = void(void* address);
  Function* acquire_;
  Function* release_;
};

}  // namespace attune::host
