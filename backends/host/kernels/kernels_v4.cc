// Our kernels for x86-64-v4: AVX-512, 64-byte vectors.
#define ATTUNE_KERNELS KernelsV4
#define ATTUNE_COMPILED_FOR "x86-64-v4"
#define ATTUNE_VECTOR_BYTES 64
// Thirty-two registers; elements of B are broadcast out of memory. The default first.
#define ATTUNE_TILES(tile) \
  tile(2, 8) tile(2, 12) tile(3, 8) tile(4, 6) tile(1, 4) tile(1, 8) tile(1, 12) tile(1, 24)

#include "backends/host/kernels/kernel_unit-inl.h"
