#include "backends/cuda/layout/tensor_layout_on_host_test.h"

#include <bit>
#include <cmath>
#include <functional>

namespace attune::cuda {
namespace {

using Element = HostElement;
using Sum = HostSum;

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
// Indices of the emulated thread.
Index blockIdx, threadIdx, blockDim, gridDim;

using std::erfc;
using std::exp;
using std::tanh;

unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

Element high_of(Element element) { return static_cast<Element>(element & ~7); }
Element low_of(Element element) { return static_cast<Element>(element & 7); }

Sum widened(Element element) { return element; }
Element rounded(Sum sum) {
  return std::isnan(sum) ? kHostNan : static_cast<Element>(std::lround(sum));
}

// Calls `visit` in the place of every block.
void ForEachBlock(const LaunchShape& shape, const std::function<void()>& visit) {
  gridDim = {shape.grid[0], shape.grid[1], shape.grid[2]};
  blockDim = {shape.block[0], shape.block[1], shape.block[2]};
  for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) visit();
    }
  }
}

// Calls `visit` in the place of every thread of the block.
void ForEachThread(const std::function<void()>& visit) {
  for (threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y) {
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) visit();
  }
}

}  // namespace
}  // namespace attune::cuda

#define __device__ static
#define __global__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(THREADS)
#define __syncthreads()
#define SPLITS
#include "backends/cuda/layout/tensor_layout.cu"

namespace attune::cuda {

void RelayoutOnHost(const Relayout& task) {
  const Relayout even = WithEvenLines(task, kHostType);
  // The kernel itself has barriers; between them it does this.
  ForEachBlock(*ShapeOf(even, kHostType), [&] {
    TilePlace place = place_of_block(even);
    for (; place.matrix < even.to_matrices; place.matrix += gridDim.y) {
      Tile tile;
      const Element* const from = (const Element*)even.from + place.matrix * even.from_matrix;
      Element* const to = (Element*)even.to + place.matrix * even.to_matrix;
      ForEachThread([&] { read_tile(even, from, place, tile); });
      ForEachThread([&] { write_tile<whole_of>(even, to, place, tile); });
    }
  });
}

void SplitOnHost(const Split& task) {
  const Split even = WithEvenLines(task, kHostType);
  ForEachBlock(*ShapeOf(even.copy, kHostType), [&] {
    TilePlace place = place_of_block(even.copy);
    for (; place.matrix < even.copy.to_matrices; place.matrix += gridDim.y) {
      Tile tile;
      ForEachThread([&] { read_tile(even.copy, from_of(even, place.matrix), place, tile); });
      ForEachThread([&] { write_parts(even, place, tile); });
    }
  });
}

HostElement HighOf(HostElement element) { return high_of(element); }
HostElement LowOf(HostElement element) { return low_of(element); }
float HighOfF32(float value) { return high_of(value); }
float LowOfF32(float value) { return low_of(value); }

void UnfoldOnHost(const Unfold& task) {
  const bool is_wide = HasWideWords(task, kHostType);
  ForEachBlock(ShapeOf(task, kHostType),
               [&] { ForEachThread([&] { is_wide ? unfold_wide(task) : unfold(task); }); });
}

void FoldOnHost(const Fold& task) {
  ForEachBlock(ShapeOf(task), [&] { ForEachThread([&] { fold(task); }); });
}

void AddPartsOnHost(const PartialSums& task) {
  ForEachBlock(ShapeOf(task), [&] { ForEachThread([&] { add_parts(task); }); });
}

}  // namespace attune::cuda
