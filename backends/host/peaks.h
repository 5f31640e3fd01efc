// The best rates of this machine, measured.
#pragma once

#include "attune/problem/target.h"
#include "backends/host/cpu.h"
#include "backends/host/gemm/gemm_executable.h"

namespace attune::host {

// Multiplies and adds in the registers of all cores, and streams through memory of some times the
// last-level cache, in short rounds that take turns, of which the best counts. Takes about 0.5 s.
// Rates are 0 where there was no memory for it.
Peaks MeasureHostPeaks(const CpuDescription& cpu, HostResources resources);

}  // namespace attune::host
