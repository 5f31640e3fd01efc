// In place of cupti.cc where CUPTI's headers were missing.
#include "backends/cuda/cupti_report.h"

namespace attune::cuda {

LibraryReport CuptiReport() {
  LibraryReport report;
  report.name = "cupti";
  report.missing =
      "CUPTI's headers (cupti_profiler_host.h, package cuda-cupti-dev-13-0) were missing when "
      "attune was built; without it no counters are planned.";
  return report;
}

}  // namespace attune::cuda
