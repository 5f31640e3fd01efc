#include "apps/attune/thread_policy.h"

#include <unistd.h>

#include "backends/host/thread_wait_policy.h"

namespace attune {

void SetThreadWaitPolicy(char** argv) {
  const bool changed = host::SetThreadWaitPolicy();
  if (changed && host::LoadedOpenMp().has_value()) {
    // If this fails, the program goes on under the policy that the runtime has read, and the
    // recorded environment of the children is right all the same.
    ::execv("/proc/self/exe", argv);
  }
}

}  // namespace attune
