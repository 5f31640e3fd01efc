// What a piece of code cost in allocations and locks, for tests of this module.
#pragma once

#include <cstdint>

namespace attune {

// Of this thread since it began. The test program counts in operator new and, by the linker's
// --wrap, in pthread_mutex_lock.
uint64_t AllocationsOfThisThread();
uint64_t LocksOfThisThread();

}  // namespace attune
