// Measurements of sessions and golden versions, for MIOpen's databases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/session/golden_part.h"
#include "attune/base/status.h"
#include "extensions/miopen/databases/measured_db.h"

namespace attune::miopen {

struct MeasuredResults {
  std::vector<MeasuredResult> results;
  LeftOut left_out;              // Timed results that are omitted, by reason.
  std::string arch;              // The GPU of the results.
  std::optional<Target> target;  // The GPU itself, if one was measured.
  // For a golden version: the number of stale entries, a sentence about them, and one about each
  // environment of the entries beyond the first.
  size_t stale = 0;
  std::string stale_text;
  std::vector<std::string> mixed;
};

// The time of each solver for each problem of the session that --session names (NewestResults),
// with caches in the state `cache`; if that is empty, in the only state that occurs.
Result<MeasuredResults> MeasuredInSession(Application& application, const std::string& cache);

// The results in `part` of the golden version, with the workspaces of the measurement sets behind
// it.
Result<MeasuredResults> MeasuredInGolden(Application& application, const std::string& version,
                                         const GoldenPart& part);

}  // namespace attune::miopen
