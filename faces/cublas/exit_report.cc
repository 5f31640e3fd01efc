// Why the library was started for nothing, said when the process ends.

#include <unistd.h>

#include <cerrno>
#include <climits>

#include "faces/preload/exit_report.h"
#include "faces/preload/lookup.h"
#include "faces/preload/message.h"
#include "faces/preload/service.h"

namespace attune::cublas {
namespace {

void WarnOfNoCalls() {
  constexpr const char* kNames[] = {"cublasSgemm_v2", "cublasLtMatmul"};
  char path[PATH_MAX];
  for (const char* name : kNames) {
    if (face::DefiningObject(name, path, sizeof path) == nullptr) continue;
    face::Say(
        "No product arrived in %s (process %d). It has cuBLAS, %s, but called none of the "
        "functions that docs/cublas.md lists. Processes that it started are not counted.",
        program_invocation_short_name, static_cast<int>(::getpid()), path);
    return;
  }
  face::Say(
      "No product arrived in %s (process %d), and it has no cuBLAS loaded: it may use none, or "
      "one linked statically. Processes that it started are not counted.",
      program_invocation_short_name, static_cast<int>(::getpid()));
}

__attribute__((destructor)) void AtExit() {
  face::ReportAtExit(face::the_service.tally(), WarnOfNoCalls);
}

}  // namespace
}  // namespace attune::cublas
