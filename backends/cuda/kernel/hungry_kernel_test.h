// A kernel that wants more than a block of the largest size may have. For the tests of this module.
#pragma once

namespace attune::cuda {

// Without launch bounds, and with so many live registers that a block of 1024 threads does not fit.
inline constexpr const char* kHungryKernel = R"(
extern "C" __global__ void hungry(const float* from, float* to) {
  float values[200];
  #pragma unroll
  for (int i = 0; i < 200; ++i) values[i] = from[i * 4096 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 200; ++i) to[i * 4096 + threadIdx.x] = values[199 - i] * values[i] + i;
}
)";

}  // namespace attune::cuda
