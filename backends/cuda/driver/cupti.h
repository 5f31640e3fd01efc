// The host's half of CUPTI, loaded at run time: it knows the counters of absent chips, and needs
// neither a device nor a driver.
#pragma once

#include <cupti_profiler_host.h>
#include <cupti_result.h>
#include <cupti_version.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/solver/backend.h"

namespace attune::cuda {

#define ATTUNE_CUPTI_FUNCTIONS(X)         \
  X(cuptiGetVersion)                      \
  X(cuptiGetResultString)                 \
  X(cuptiProfilerHostGetSupportedChips)   \
  X(cuptiProfilerHostInitialize)          \
  X(cuptiProfilerHostDeinitialize)        \
  X(cuptiProfilerHostGetMetricProperties) \
  X(cuptiProfilerHostConfigAddMetrics)    \
  X(cuptiProfilerHostGetConfigImageSize)  \
  X(cuptiProfilerHostGetConfigImage)      \
  X(cuptiProfilerHostGetNumOfPasses)      \
  X(cuptiProfilerHostEvaluateToGpuValues)

// A table of functions, which a test may fill with its own. Immutable and thread-safe once filled.
struct Cupti {
#define ATTUNE_CUPTI_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  ATTUNE_CUPTI_FUNCTIONS(ATTUNE_CUPTI_DECLARE)
#undef ATTUNE_CUPTI_DECLARE
  LibraryReport report;
  std::string warning;  // VersionWarning() of the one that was loaded.

  bool available() const { return report.available; }
  // Ok, or "CUPTI <what>: CUPTI_ERROR_INVALID_METRIC_NAME (error 17).": kNotFound for unknown
  // names, kInternal otherwise.
  Status Check(CUptiResult code, std::string_view what) const;
};

// A warning about a CUPTI that gives its version as `loaded` (130001 is 13.0.1; 0: it gives none),
// from `path`: empty for the version that this was compiled against. Others of its major version
// are used all the same, as their structures state their size.
std::string VersionWarning(uint32_t loaded, std::string_view path);

// The first of `names` (file names or paths) that can be loaded, for the life of the process.
Cupti LoadCupti(const std::vector<std::string>& names);
// Looks for its file name, and in the folders where the toolkit puts it.
Cupti LoadCupti();

}  // namespace attune::cuda
