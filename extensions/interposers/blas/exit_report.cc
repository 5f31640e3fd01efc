// Prints at process end why the library did nothing.

#include <unistd.h>

#include <cerrno>
#include <climits>

#include "extensions/interposers/preload/exit_report.h"
#include "extensions/interposers/preload/lookup.h"
#include "extensions/interposers/preload/message.h"

namespace attune::blas {
namespace {

void WarnOfNoCalls() {
  constexpr const char* kNames[] = {"cblas_sgemm", "sgemm_", "scipy_cblas_sgemm64_",
                                    "scipy_sgemm_"};
  char path[PATH_MAX];
  for (const char* name : kNames) {
    if (interposer::DefiningObject(name, path, sizeof path) == nullptr) continue;
    interposer::Say(
        "No product arrived in %s (process %d). It has a BLAS, %s, but called no gemm or gemv of "
        "it for float or double. Programs that it started are not counted.",
        program_invocation_short_name, static_cast<int>(::getpid()), path);
    return;
  }
  interposer::Say(
      "No product arrived in %s (process %d), and no library that it has loaded defines one: it "
      "may use no BLAS, a BLAS linked statically, or one under other names (see docs/blas.md). "
      "Programs that it started are not counted.",
      program_invocation_short_name, static_cast<int>(::getpid()));
}

__attribute__((destructor)) void AtExit() { interposer::ReportAtExit(WarnOfNoCalls); }

}  // namespace
}  // namespace attune::blas
