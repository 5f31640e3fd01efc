#include "extensions/interposers/preload/exit_report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "extensions/interposers/preload/message.h"
#include "extensions/interposers/preload/service.h"

namespace attune::interposer {
namespace {

// "attune blas: python3 (process 12): 40 calls served, 3 passed on (2 empty, 1 strided)."
void SaySummary(const Tally& tally) {
  char reasons[768] = "";
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

// The verb says which process it became.
bool WasStartedByVerb() {
  const char* process = ::secure_getenv(ATTUNE_INTERPOSER_VARIABLE "_PROCESS");
  return process != nullptr && std::strtol(process, nullptr, 10) == static_cast<long>(::getpid());
}

__attribute__((constructor)) void WatchChildren() {
  if (WasStartedByVerb()) the_service.WatchChildren();
}

}  // namespace

void ReportAtExit(void (*warn)()) {
  const Tally& tally = the_service.tally();
  if (tally.is_counting()) SaySummary(tally);
  if (!tally.any_in_family() && WasStartedByVerb()) warn();
}

}  // namespace attune::interposer
