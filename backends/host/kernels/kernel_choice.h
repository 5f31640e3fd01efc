// The table of our kernels that a processor runs best.
#pragma once

#include "backends/host/cpu.h"
#include "backends/host/kernels/kernel_table.h"

namespace attune::host {

// The table for `level`, which the processor must reach.
inline const KernelTable& KernelsFor(IsaLevel level) {
  switch (level) {
    case IsaLevel::kV4:
      return KernelsV4();
    case IsaLevel::kV3:
      return KernelsV3();
    case IsaLevel::kV2:
      return KernelsV2();
    case IsaLevel::kBaseline:
      break;
  }
  return KernelsBaseline();
}

}  // namespace attune::host
