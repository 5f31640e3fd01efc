#include "apps/attune/thread_policy.h"

#include <sys/auxv.h>
#include <unistd.h>

#include "backends/host/thread_wait_policy.h"

namespace attune {

void SetThreadWaitPolicy(char** argv) {
  const bool changed = host::SetThreadWaitPolicy();
  // AT_BASE is 0 if the user started the loader with this program as its argument. Then
  // /proc/self/exe is the loader.
  const bool is_own_file = ::getauxval(AT_BASE) != 0;
  if (changed && is_own_file && host::LoadedOpenMp().has_value()) {
    // If this fails, the program continues under the policy that the runtime has read, and the
    // recorded environment of the workers is right all the same.
    ::execv("/proc/self/exe", argv);
  }
}

}  // namespace attune
