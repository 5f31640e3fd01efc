// Models beside the database are fitted again at the end of a tuning run.
#pragma once

#include "apps/attune/application.h"
#include "apps/attune/workshop.h"
#include "attune/tuner/tune_run.h"

namespace attune {

// Refits if `summary` has tuned something and records have grown enough (RefitGrown), in a turn at
// the machine without other measurements. Prints the result on standard error; a failure does not
// fail the run. REQUIRES: nothing is being measured by this process.
void RefitModels(Application& application, Workshop& workshop, const RunSummary& summary);

}  // namespace attune
