// Element types that the compiler has no arithmetic for, to and from double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attune/base/data_type.h"

namespace attune::host {

// Reads `count` elements of `type`, `step` elements apart, into `to`.
void ReadElements(DataType type, const std::byte* from, int64_t step, int64_t count, double* to);

// Writes one element, rounded to the nearest, ties to even; integers saturate. REQUIRES: `type` is
// none of the 8-bit floats.
void WriteElement(DataType type, double value, std::byte* to);
// Reads one element.
double ReadElement(DataType type, const std::byte* from);

}  // namespace attune::host
