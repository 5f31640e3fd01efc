#include "faces/preload/runtime_library.h"

#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace attune::face {
namespace {

template <class Function>
bool Bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

// The run time in the folder of this library, or one above it. By its path: the loader looks for a
// bare name where the caller of dlopen() says, and in a program with a sanitizer that is the
// sanitizer.
void* OpenBeside() {
  Dl_info here;
  if (::dladdr(reinterpret_cast<const void*>(&OpenBeside), &here) == 0) return nullptr;
  const char* slash = std::strrchr(here.dli_fname, '/');
  if (slash == nullptr) return nullptr;
  const int folder = static_cast<int>(slash - here.dli_fname);
  for (const char* above : {"", "../"}) {
    char path[PATH_MAX];
    std::snprintf(path, sizeof path, "%.*s/%s" ATTUNE_RUNTIME_FILE, folder, here.dli_fname, above);
    if (void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

bool RuntimeLibrary::Open(char* reason, size_t size) {
  const char* path = std::getenv(ATTUNE_FACE_VARIABLE "_RUNTIME");
  const bool is_named = path != nullptr && *path != '\0';
  if (!is_named) path = ATTUNE_RUNTIME_FILE;
  void* library = is_named ? nullptr : OpenBeside();
  if (library == nullptr) library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::snprintf(reason, size, "Cannot load %s: %s.", path, ::dlerror());
    return false;
  }
  decltype(&attune_api_version) api_version = nullptr;
  if (!Bind(library, "attune_api_version", api_version) ||
      !Bind(library, "attune_runtime_create", create) ||
      !Bind(library, "attune_run_gemm", run_gemm) ||
      !Bind(library, "attune_last_message", last_message)) {
    std::snprintf(reason, size, "%s is not the run time of attune: %s.", path, ::dlerror());
    return false;
  }
  // Older ones have none: they write what was recorded at the exit alone, and nothing in children.
  (void)Bind(library, "attune_flush_records", flush_records);
  (void)Bind(library, "attune_record_gemm", record_gemm);
  if (api_version() < ATTUNE_API_VERSION) {
    std::snprintf(reason, size, "%s has version %d of the interface, but version %d is needed.",
                  path, api_version(), ATTUNE_API_VERSION);
    return false;
  }
  return true;
}

}  // namespace attune::face
