// Where the process was when it loaded this library, before its main(): libattune.so, which is
// opened at the first product, asks for it (attune/base/path_variable.cc).

#include <limits.h>
#include <unistd.h>

namespace {

constinit char folder[PATH_MAX] = "";

[[gnu::constructor]] void Remember() {
  // The kernel begins with "(unreachable)" what lies outside of the root of this process.
  if (::getcwd(folder, sizeof folder) == nullptr || folder[0] != '/') folder[0] = '\0';
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* attune_start_folder();
extern "C" const char* attune_start_folder() { return folder; }
