// The kernels of reference_product.cu as functions of the host, which take the place of one thread
// after the other.
#pragma once

#include <cstdint>

#include "backends/cuda/gemm/reference_product.h"

namespace attune::cuda {

// Does the work of a launch of the kernel, in double-double if `is_exact`, with so many blocks.
void MultiplyOnHost(const ReferenceProduct& product, bool is_exact, unsigned blocks);

// An element as the kernels read it; `type` as they count it.
double DecodedOnHost(const void* from, int type, int64_t at);

}  // namespace attune::cuda
