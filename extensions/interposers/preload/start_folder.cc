// Records the current folder before main(), for libattune.so, which opens at the first product
// (attune/base/path_variable.cc). Also makes this library's path in LD_PRELOAD absolute, for
// programs that this process starts from another folder.

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attune/base/mapped_file.h"
#include "extensions/interposers/preload/lookup.h"

namespace attune::interposer {
namespace {

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr const char* kSeparators = ": ";

constinit char folder[PATH_MAX] = "";

bool IsSameFile(const char* path, const char* other) {
  struct stat one, two;
  return ::stat(path, &one) == 0 && ::stat(other, &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}

bool HasRelative(const char* list) {
  for (const char* at = list; *at != '\0'; at += ::strspn(at, kSeparators)) {
    const size_t length = ::strcspn(at, kSeparators);
    if (at[0] != '/' && ::memchr(at, '/', length) != nullptr) return true;
    at += length;
  }
  return false;
}

// Avoids setenv(): shells define it for their own variables, which are not ready yet.
void SetPreload(char* entry) {
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (::strncmp(*at, kPreload, sizeof kPreload - 1) == 0) *at = entry;
  }
}

// Replaces the relative path of this library in LD_PRELOAD by `own`. Other names belong to the user
// and stay.
void Resolve(const char* list, const char* own) {
  const size_t own_length = ::strlen(own);
  // The worst case: every name is a relative path of this library.
  const size_t longest = sizeof kPreload + (::strlen(list) + 1) * (own_length + 1);
  char* resolved = static_cast<char*>(::malloc(longest));
  if (resolved == nullptr) return;
  size_t used = sizeof kPreload - 1;
  ::memcpy(resolved, kPreload, used);
  for (const char* at = list; *at != '\0';) {
    char name[PATH_MAX];
    const size_t length = ::strcspn(at, kSeparators);
    const bool fits = length < sizeof name;
    ::memcpy(name, at, fits ? length : 0);
    name[fits ? length : 0] = '\0';
    const bool is_own = IsRelative(name) && IsSameFile(name, own);
    ::memcpy(resolved + used, is_own ? own : at, is_own ? own_length : length);
    used += is_own ? own_length : length;
    at += length;
    if (*at != '\0') resolved[used++] = *at++;
  }
  resolved[used] = '\0';
  if (::strcmp(resolved + sizeof kPreload - 1, list) == 0) {
    ::free(resolved);
  } else {
    SetPreload(resolved);
  }
}

[[gnu::constructor]] void Remember() {
  // The kernel prefixes a folder outside the root of this process with "(unreachable)".
  if (::getcwd(folder, sizeof folder) == nullptr || folder[0] != '/') folder[0] = '\0';
  const char* list = ::secure_getenv("LD_PRELOAD");
  if (list == nullptr || !HasRelative(list)) return;
  char own[PATH_MAX];
  const void* const here = reinterpret_cast<const void*>(&Remember);
  const bool is_found = FindMappedFile(here, own, sizeof own) == MappedFile::kFound;
  // The loader would split a path with a separator into two names.
  if (is_found && ::strpbrk(own, kSeparators) == nullptr) Resolve(list, own);
}

}  // namespace
}  // namespace attune::interposer

extern "C" __attribute__((visibility("default"))) const char* attune_start_folder();
extern "C" const char* attune_start_folder() { return attune::interposer::folder; }
