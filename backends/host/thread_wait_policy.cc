#include "backends/host/thread_wait_policy.h"

#include <cstdlib>

namespace attune::host {
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

}  // namespace

bool SetThreadWaitPolicy() {
  bool changed = false;
  for (const Setting& setting : kSettings) {
    if (std::getenv(setting.name) != nullptr) continue;
    ::setenv(setting.name, setting.value, 0);
    changed = true;
  }
  return changed;
}

}  // namespace attune::host
