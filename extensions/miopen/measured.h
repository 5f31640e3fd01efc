// What sessions and golden versions have measured, for databases of MIOpen's.
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
  LeftOut left_out;              // What was timed and is not among them, by reason.
  std::string arch;              // Of the GPU that they are of.
  std::optional<Target> target;  // The GPU itself, once something was measured on it.
  // Of a golden version: how many entries are stale, a sentence about them, and one about each
  // environment beyond the first that entries are of.
  size_t stale = 0;
  std::string stale_text;
  std::vector<std::string> mixed;
};

// What each solver took for each problem of the session that --session names (NewestResults), with
// caches in the state `cache`; if that is empty in the only one that there is.
Result<MeasuredResults> MeasuredInSession(Application& application, const std::string& cache);

// What `part` of the golden version says, with the workspaces of the sets behind it.
Result<MeasuredResults> MeasuredInGolden(Application& application, const std::string& version,
                                         const GoldenPart& part);

}  // namespace attune::miopen
