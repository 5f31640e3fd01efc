#include "backends/cuda/gemm/reference_product_on_host_test.h"

#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

namespace attune::cuda {
namespace {

struct Index {
  unsigned x = 0;
};
// Indices of the emulated thread.
Index blockIdx, threadIdx, gridDim;

using std::erfc;
using std::exp;
using std::tanh;

float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
double __dmul_rn(double a, double b) { return a * b; }
double __dadd_rn(double a, double b) { return a + b; }

}  // namespace
}  // namespace attune::cuda

#define __device__ [[maybe_unused]] static
#define __global__
#define __noinline__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(THREADS)
#define __syncthreads()
#include "backends/cuda/gemm/reference_product.cu"

namespace attune::cuda {
namespace {

template <bool kExact>
void Multiply(const ReferenceProduct& task, unsigned blocks) {
  const auto panels = std::make_unique<Panels>();
  const auto for_each_thread = [](const std::function<void()>& visit) {
    for (threadIdx.x = 0; threadIdx.x < kThreads; ++threadIdx.x) visit();
  };
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    // The kernel itself has barriers; between them it does this.
    for (long long index = blockIdx.x; index < tiles_of(task); index += gridDim.x) {
      const Tile tile = tile_at(task, index);
      std::vector<Sums> sums(kThreads);
      for_each_thread([&] { place_outputs(task, tile, *panels); });
      for (long long k0 = 0; k0 < task.k; k0 += kDepth) {
        for_each_thread([&] { place_terms(task, k0, *panels); });
        for_each_thread([&] { gather_panels(task, tile, *panels); });
        for_each_thread([&] { multiply_panels<kExact>(*panels, sums[threadIdx.x]); });
      }
      for_each_thread([&] { store(task, tile, sums[threadIdx.x]); });
    }
  }
}

}  // namespace

void MultiplyOnHost(const ReferenceProduct& product, bool is_exact, unsigned blocks) {
  is_exact ? Multiply<true>(product, blocks) : Multiply<false>(product, blocks);
}

double DecodedOnHost(const void* from, int type, int64_t at) { return element_at(from, type, at); }

}  // namespace attune::cuda
