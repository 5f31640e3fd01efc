// The shapes of a recording timed again, on this machine.
#pragma once

#include "attune/base/status.h"
#include "bench/models/recordings.h"

namespace attune::bench {

// `recording` is of packed sgemm; each of its times becomes the median of several samples of
// OpenBLAS here, on one thread with warm caches. kUnavailable without OpenBLAS.
Status TimeSgemmAnew(Recording& recording);

}  // namespace attune::bench
