// What a preload library says when the process ends: a summary on request, and a warning if it was
// started for nothing.
#pragma once

namespace attune::interposer {

// For a destructor of the library. `warn` says why no call arrived. It is called if none did in the
// process that the verb of this interposer became, nor in children that it forked.
void ReportAtExit(void (*warn)());

}  // namespace attune::interposer
