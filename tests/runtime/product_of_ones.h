// The call that tests of the runtime make, in this process and in others.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/attune.h"

namespace attune {

// Multiplies matrices of ones, `size` x `size`, through `runtime` into `product`, on the caller's
// `queue` if there is one.
inline attune_code MultiplyOnes(attune_runtime* runtime, int64_t size, std::vector<float>& product,
                                void* queue = nullptr) {
  const std::vector<float> ones(static_cast<size_t>(size * size), 1);
  product.assign(ones.size(), -1);
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  // Where the vectors happen to lie must not make another problem of it.
  gemm.alignment_bytes = 4;
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = ones.data();
  arguments.b = ones.data();
  arguments.c = product.data();
  arguments.queue = queue;
  return attune_run_gemm(runtime, &gemm, &arguments);
}

}  // namespace attune
