// Prints at process end why the library did nothing.

#include <unistd.h>

#include <cerrno>
#include <climits>

#include "extensions/interposers/preload/exit_report.h"
#include "extensions/interposers/preload/lookup.h"
#include "extensions/interposers/preload/message.h"

namespace attune::cublas {
namespace {

void WarnOfNoCalls() {
  constexpr const char* kNames[] = {"cublasSgemm_v2", "cublasLtMatmul"};
  char path[PATH_MAX];
  for (const char* name : kNames) {
    if (interposer::DefiningObject(name, path, sizeof path) == nullptr) continue;
    interposer::Say(
        "No product arrived in %s (process %d). It has cuBLAS, %s, but called none of the "
        "functions that docs/cublas.md lists. Programs that it started are not counted.",
        program_invocation_short_name, static_cast<int>(::getpid()), path);
    return;
  }
  interposer::Say(
      "No product arrived in %s (process %d), and it has no cuBLAS loaded: it may use none, or "
      "one linked statically. Programs that it started are not counted.",
      program_invocation_short_name, static_cast<int>(::getpid()));
}

__attribute__((destructor)) void AtExit() { interposer::ReportAtExit(WarnOfNoCalls); }

}  // namespace
}  // namespace attune::cublas
