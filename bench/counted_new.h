// Allocations of this thread, counted in operator new of the program.
#pragma once

#include <cstdint>

namespace attune {

uint64_t AllocationsOfThisThread();

}  // namespace attune
