#include "backends/host/thread_wait_policy.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "attune/base/process_variables.h"
#include "backends/host/execution_environment.h"

namespace attune::host {
namespace {

struct Setting {
  const char* name;
  const char* value;
};

// OPENBLAS_THREAD_TIMEOUT is a power of two of clock cycles: 2^20 is under a millisecond, long
// enough to stay awake between calls that follow each other, where the default 2^26 spins for 20
// ms.
// OMP_PROC_BIND is set explicitly, because libxsmm sets it to TRUE if it is unset.
constexpr Setting kSettings[] = {{kWaitPolicyVariable, "passive"},
                                 {"OMP_PROC_BIND", "false"},
                                 {"OPENBLAS_THREAD_TIMEOUT", "20"}};

bool IsSet(const char* variable) { return !VariableOr(variable, "").empty(); }

bool SetAllBut(const char* left_out) {
  bool changed = false;
  for (const Setting& setting : kSettings) {
    const bool is_left_out = left_out != nullptr && std::strcmp(setting.name, left_out) == 0;
    if (is_left_out || IsSet(setting.name)) continue;
    ::setenv(setting.name, setting.value, 1);
    changed = true;
  }
  return changed;
}

bool IsLoaded(const char* library) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  ::dlclose(handle);
  return true;
}

}  // namespace

std::optional<std::string_view> LoadedOpenMp() {
  for (const char* name : {"libgomp.so.1", "libomp.so.5", "libiomp5.so"}) {
    if (IsLoaded(name)) return name;
  }
  return std::nullopt;
}

bool SetThreadWaitPolicy() { return SetAllBut(nullptr); }

std::optional<std::string_view> SetThreadWaitPolicyInProgram() {
  const auto loaded = LoadedOpenMp();
  const bool has_read_nothing = loaded.has_value() && !IsSet(kWaitPolicyVariable);
  SetAllBut(has_read_nothing ? kWaitPolicyVariable : nullptr);
  return has_read_nothing ? loaded : std::nullopt;
}

}  // namespace attune::host
