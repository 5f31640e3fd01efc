// What sessions and golden versions have measured, for databases of MIOpen's.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/miopen/measured_db.h"

namespace attune::miopen {

struct MeasuredResults {
  std::vector<MeasuredResult> results;
  std::string arch;  // Of the GPU that they are of.
};

// All that came into the final of the newest decision of each problem of the session that --session
// names.
Result<MeasuredResults> MeasuredInSession(Application& application);

// What the golden version says for the target that `target` means (golden_verbs.h), with the
// workspaces of the sets behind it.
Result<MeasuredResults> MeasuredInGolden(Application& application, const std::string& version,
                                         const std::string& target);

}  // namespace attune::miopen
