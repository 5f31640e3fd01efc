// How much scratch memory libraries really use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::cuda {

// Alignment of the parts of scratch memory, as of allocations.
inline constexpr size_t kScratchUnit = 256;

// Limit of the copies and partial sums of one candidate together, beside the library's workspace.
inline constexpr int64_t kMostScratchBytes = int64_t{256} << 20;

// Enough for a library that reports a need of `bytes`, in whole units: cuBLASLt 13.1 and cuDNN 9.14
// count odd bytes (131,367 for a product of 33x17x65 split 16 ways, 1,094,327 for a convolution),
// and their kernels write whole words.
constexpr size_t ScratchBytes(size_t bytes) {
  return (bytes + kScratchUnit - 1) / kScratchUnit * kScratchUnit;
}

}  // namespace attune::cuda
