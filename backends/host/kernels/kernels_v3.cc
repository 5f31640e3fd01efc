// Our kernels for x86-64-v3: AVX2 and FMA, 32-byte vectors.
#define ATTUNE_KERNELS KernelsV3
#define ATTUNE_COMPILED_FOR "x86-64-v3"
#define ATTUNE_VECTOR_BYTES 32
// Sixteen registers hold the sums, one column of A and one element of B. The default first.
#define ATTUNE_TILES(tile) tile(2, 6) tile(2, 4) tile(3, 4) tile(1, 4) tile(1, 8) tile(1, 12)

#include "backends/host/kernels/kernel_unit-inl.h"
