// Replaces cupti.cc and counter_source.cc if CUPTI's headers were missing.
#include "backends/cuda/driver/counter_source.h"
#include "backends/cuda/driver/cupti_report.h"

namespace attune::cuda {

LibraryReport CuptiReport() {
  LibraryReport report;
  report.name = "cupti";
  report.missing =
      "CUPTI's headers (cupti_profiler_host.h, package cuda-cupti-dev-13-0) were missing when "
      "attune was built; without it no counters are planned.";
  return report;
}

Result<std::unique_ptr<CounterSource>> MakeCounterSource(CUcontext, int) {
  return Unsupported(CuptiReport().missing);
}

}  // namespace attune::cuda
