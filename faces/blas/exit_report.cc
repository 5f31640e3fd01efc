// What the library says when the process ends: a summary on request, and a warning if it was
// started for nothing.

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "faces/blas/face.h"
#include "faces/blas/message.h"

namespace attune::blas {

const char* Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kServed:
      return "served";
    case Outcome::kOff:
      return "switched off";
    case Outcome::kReentrant:
      return "from within a library";
    case Outcome::kEmpty:
      return "empty";
    case Outcome::kStrided:
      return "strided";
    case Outcome::kInvalid:
      return "invalid";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kFailed:
      return "without a run time";
    case Outcome::kForked:
      return "after a fork";
  }
  return "unknown";
}

namespace {

// "attune blas: python3 (process 12): 40 calls served, 3 passed on (2 empty, 1 strided)."
void SaySummary(const Tally& tally) {
  char reasons[512] = "";
  size_t used = 0;
  unsigned long long passed = 0;
  for (int i = 1; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    const unsigned long long count = tally.count(outcome);
    passed += count;
    if (count == 0 || used >= sizeof reasons) continue;
    used += static_cast<size_t>(std::snprintf(reasons + used, sizeof reasons - used, "%s%llu %s",
                                              used == 0 ? " (" : ", ", count, Name(outcome)));
  }
  Say("%s (process %d): %llu calls served, %llu passed on%s%s.", program_invocation_short_name,
      static_cast<int>(::getpid()), static_cast<unsigned long long>(tally.count(Outcome::kServed)),
      passed, reasons, used == 0 ? "" : ")");
}

// `attune blas` says which process it became.
bool WasStartedByVerb() {
  const char* process = std::getenv("ATTUNE_BLAS_PROCESS");
  return process != nullptr && std::strtol(process, nullptr, 10) == static_cast<long>(::getpid());
}

void WarnOfNoCalls() {
  constexpr const char* kNames[] = {"cblas_sgemm", "sgemm_", "scipy_cblas_sgemm64_",
                                    "scipy_sgemm_"};
  char path[PATH_MAX];
  for (const char* name : kNames) {
    if (DefiningObject(name, path, sizeof path) == nullptr) continue;
    Say("No product arrived in %s (process %d). It has a BLAS, %s, but called no gemm or gemv of "
        "it for float or double. Processes that it started are not counted.",
        program_invocation_short_name, static_cast<int>(::getpid()), path);
    return;
  }
  Say("No product arrived in %s (process %d), and no library that it has loaded defines one: it "
      "may use no BLAS, a BLAS linked statically, or one under other names (see docs/blas.md). "
      "Processes that it started are not counted.",
      program_invocation_short_name, static_cast<int>(::getpid()));
}

__attribute__((destructor)) void ReportAtExit() {
  const Face& face = TheFace();
  if (face.tally().is_counting()) SaySummary(face.tally());
  if (!face.tally().any() && WasStartedByVerb()) WarnOfNoCalls();
}

}  // namespace
}  // namespace attune::blas
