// Limits a background process to a part of one core.
#pragma once

#include <cstdint>

namespace attune {

// CPU time of this process in nanoseconds: all its threads, and those of its children that have
// ended and were waited for.
int64_t ProcessorTimeNs();

// How long to rest after `wall_ns` in which `processor_ns` were computed, on however many cores,
// so that it is `share` of one core on average; share in (0, 1]. 0 if less was computed than that.
int64_t RestNs(int64_t processor_ns, int64_t wall_ns, double share);

}  // namespace attune
