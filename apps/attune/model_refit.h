// Models beside the database are fitted again at the end of a tuning run.
#pragma once

#include "apps/attune/application.h"
#include "apps/attune/workshop.h"
#include "attune/tuner/tune_run.h"

namespace attune {

// If `summary` has tuned something and records have grown enough (RefitGrown), in a turn at the
// machine in which nobody times. What comes of it is said on standard error; no failure of it is
// one of the run. REQUIRES: nothing is being measured by this process.
void RefitModels(Application& application, Workshop& workshop, const RunSummary& summary);

}  // namespace attune
