// Kernels for x86-64-v4: 32 registers of 16 floats.
namespace attune::host::v4 {
constexpr int kVectorFloats = 16;
constexpr int kMaxRows1 = 28;
constexpr int kMaxRows2 = 14;
constexpr int kMaxRows3 = 9;
constexpr int kMaxRows4 = 6;
}  // namespace attune::host::v4
#define ATTUNE_MICRO_ISA v4
#include "backends/host/conv/micro_kernel-inl.h"

namespace attune::host {

const MicroKernelSet& MicroKernelsV4() {
  static constexpr MicroKernelSet kSet = v4::MakeSet();
  return kSet;
}

}  // namespace attune::host
