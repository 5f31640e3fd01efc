// For tests: a thread, and those that it starts, on one core.
#pragma once

#include <sched.h>

namespace attune {

// From the constructor to the destructor this thread stays on its present core. If the system
// refuses, the thread may still move.
class OnOneCore {
 public:
  OnOneCore() {
    is_known_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0;
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(::sched_getcpu(), &here);
    if (is_known_) (void)::sched_setaffinity(0, sizeof here, &here);
  }
  ~OnOneCore() {
    if (is_known_) (void)::sched_setaffinity(0, sizeof before_, &before_);
  }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  bool is_known_ = false;
  cpu_set_t before_;
};

}  // namespace attune
