// How far an output in host memory lies from the right one.
#pragma once

#include <cstddef>
#include <span>

#include "attune/device/memory_operations.h"

namespace attune {

// As MemoryOperations::Compare. REQUIRES: both spans have terms.elements elements.
OutputComparison CompareOnHost(std::span<const std::byte> output, std::span<const double> reference,
                               const ComparisonTerms& terms);

}  // namespace attune
