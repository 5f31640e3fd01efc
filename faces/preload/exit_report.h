// What a preload library says when the process ends: a summary on request, and a warning if it was
// started for nothing.
#pragma once

#include "faces/preload/tally.h"

namespace attune::face {

// For a destructor of the library. `warn` says why no call arrived; it is called if none did in the
// process that the verb of this face became.
void ReportAtExit(const Tally& tally, void (*warn)());

}  // namespace attune::face
