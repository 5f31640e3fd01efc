#include "backends/host/thread_binding.h"

#include <cstdlib>
#include <string>

#include "attune/base/file.h"

namespace attune::host {

void ForgetForeignThreadBinding() {
  // The kernel keeps the environment that the process was started with.
  const auto initial = ReadFile("/proc/self/environ");
  if (!initial.ok()) return;
  const std::string entries = '\0' + *initial;
  if (entries.find(std::string("\0OMP_PROC_BIND=", 15)) == std::string::npos) {
    ::unsetenv("OMP_PROC_BIND");
  }
}

}  // namespace attune::host
