#include "backends/host/conv/micro_kernel.h"

#include <cassert>

namespace attune::host {

const MicroKernelSet& MicroKernelsV2();
const MicroKernelSet& MicroKernelsV3();
const MicroKernelSet& MicroKernelsV4();

const MicroKernelSet& MicroKernelsFor(IsaLevel level) {
  assert(level >= IsaLevel::kV2);
  if (level == IsaLevel::kV4) return MicroKernelsV4();
  return level == IsaLevel::kV3 ? MicroKernelsV3() : MicroKernelsV2();
}

}  // namespace attune::host
