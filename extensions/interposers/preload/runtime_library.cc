#include "extensions/interposers/preload/runtime_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attune/base/mapped_file.h"
#include "extensions/interposers/preload/lookup.h"

namespace attune::interposer {
namespace {

template <class Function>
bool Bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

// The path of the run time: beside this library, or one folder above it.
MappedFile FindRuntime(char* path, size_t size) {
  char library[PATH_MAX];
  const MappedFile found =
      FindMappedFile(reinterpret_cast<const void*>(&FindRuntime), library, sizeof library);
  if (found != MappedFile::kFound) return found;
  *std::strrchr(library, '/') = '\0';
  for (const char* place : {"", "/.."}) {
    const int length = std::snprintf(path, size, "%s%s/%s", library, place, ATTUNE_RUNTIME_FILE);
    const bool fits = length > 0 && static_cast<size_t>(length) < size;
    if (fits && ::access(path, F_OK) == 0) break;
  }
  return found;
}

// Returns false and fills `reason` if a function is missing or the version is too old.
bool BindAll(void* library, const char* path, RuntimeLibrary& bound, char* reason, size_t size) {
  decltype(&attune_api_version) api_version = nullptr;
  if (!Bind(library, "attune_api_version", api_version) ||
      !Bind(library, "attune_runtime_create", bound.create) ||
      !Bind(library, "attune_run_gemm", bound.run_gemm) ||
      !Bind(library, "attune_last_message", bound.last_message)) {
    std::snprintf(reason, size, "%s is not the run time of attune: %s.", path, ::dlerror());
    return false;
  }
  // Older run times lack these: they write records only at exit, and never in forked children.
  (void)Bind(library, "attune_flush_records", bound.flush_records);
  (void)Bind(library, "attune_record_gemm", bound.record_gemm);
  if (api_version() < ATTUNE_API_VERSION) {
    std::snprintf(reason, size, "%s has version %d of the interface, but version %d is needed.",
                  path, api_version(), ATTUNE_API_VERSION);
    return false;
  }
  return true;
}

}  // namespace

RuntimeLibrary::Outcome RuntimeLibrary::Open(char* reason, size_t size) {
  constexpr const char* kVariable = ATTUNE_INTERPOSER_VARIABLE "_RUNTIME";
  const char* named = ::secure_getenv(kVariable);
  const bool is_named = named != nullptr && *named != '\0';
  char found[PATH_MAX];
  const MappedFile where = is_named ? MappedFile::kFound : FindRuntime(found, sizeof found);
  if (where != MappedFile::kFound) {
    std::snprintf(reason, size, "Cannot find %s: %s.", ATTUNE_RUNTIME_FILE,
                  ::attune::Reason(where));
    return Outcome::kNoPath;
  }
  const char* path = is_named ? named : found;
  if (is_named && IsRelative(named)) {
    std::snprintf(reason, size,
                  "Cannot use %s: '%s' is a relative path, and code is loaded by absolute paths "
                  "only. Give the whole path.",
                  kVariable, named);
    return Outcome::kFailed;
  }
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::snprintf(reason, size, "Cannot load %s: %s.", path, ::dlerror());
    return Outcome::kFailed;
  }
  return BindAll(library, path, *this, reason, size) ? Outcome::kOpen : Outcome::kFailed;
}

}  // namespace attune::interposer
