// Kernels for x86-64-v2: 16 registers of 4 floats, products and sums apart.
namespace attune::host::v2 {
constexpr int kVectorFloats = 4;
constexpr int kMaxRows1 = 12;
constexpr int kMaxRows2 = 6;
constexpr int kMaxRows3 = 3;
constexpr int kMaxRows4 = 0;
}  // namespace attune::host::v2
#define ATTUNE_MICRO_ISA v2
#include "backends/host/conv/micro_kernel-inl.h"

namespace attune::host {

const MicroKernelSet& MicroKernelsV2() {
  static constexpr MicroKernelSet kSet = v2::MakeSet();
  return kSet;
}

}  // namespace attune::host
