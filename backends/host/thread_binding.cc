#include "backends/host/thread_binding.h"

#include <cstdlib>

namespace attune::host {

void LeaveThreadsUnbound() { ::setenv("OMP_PROC_BIND", "false", 0); }

}  // namespace attune::host
