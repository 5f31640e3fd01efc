// Our kernels for x86-64: SSE2, 16-byte vectors, no fused multiply-add.
#define ATTUNE_KERNELS KernelsBaseline
#define ATTUNE_COMPILED_FOR "x86-64"
#define ATTUNE_VECTOR_BYTES 16
// Sixteen registers hold the sums, one column of A and one element of B. The default first.
#define ATTUNE_TILES(tile) tile(2, 6) tile(2, 4) tile(3, 4) tile(1, 4) tile(1, 8) tile(1, 12)

#include "backends/host/kernels/kernel_unit-inl.h"
