// Kernels for x86-64-v3: 16 registers of 8 floats.
namespace attune::host::v3 {
constexpr int kVectorFloats = 8;
constexpr int kMaxRows1 = 12;
constexpr int kMaxRows2 = 6;
constexpr int kMaxRows3 = 4;
constexpr int kMaxRows4 = 0;
}  // namespace attune::host::v3
#define ATTUNE_MICRO_ISA v3
#include "backends/host/conv/micro_kernel-inl.h"

namespace attune::host {

const MicroKernelSet& MicroKernelsV3() {
  static constexpr MicroKernelSet kSet = v3::MakeSet();
  return kSet;
}

}  // namespace attune::host
