// What a preload library says when the process ends: a summary on request, and a warning if it was
// started for nothing.
#pragma once

#include "extensions/interposers/preload/tally.h"

namespace attune::interposer {

// For a destructor of the library. `warn` says why no call arrived; it is called if none did in the
// process that the verb of this interposer became.
void ReportAtExit(const Tally& tally, void (*warn)());

}  // namespace attune::interposer
