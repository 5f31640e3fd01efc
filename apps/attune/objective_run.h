// attune tune --objective, and attune best --objective: users' kernels by something else than time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/workshop.h"
#include "attune/base/status.h"
#include "attune/record/figure_store.h"
#include "attune/tuner/objective_session.h"
#include "attune/tuner/tune_run.h"
#include "attune/tuner/tuner.h"
#include "runtime/places.h"

namespace attune {

// Names as --objective has them: one or two, apart by a comma. kInvalidArgument for more, for one
// twice, and for an invalid name.
Result<std::vector<std::string>> ParseObjectives(const std::string& text);

// The objectives that `names` mean for `problem`, which is of the user's kernel in `kernel_file`.
// kInvalidArgument for a metric of nothing. REQUIRES: CheckObjective, of these names and that file.
Result<Sought> SoughtBy(const std::vector<std::string>& names, const std::string& kernel_file,
                        const Place& place, const Problem& problem);

struct ObjectiveRun {
  std::string objective;    // As it was typed.
  std::string kernel_file;  // From --kernel; empty without it.
  TuneOptions tune;
  RunOptions run;
  bool json = false;
};

// kInvalidArgument for options that --objective does not allow, and for a name that is no metric of
// the kernel, with a list of its metrics.
Status CheckObjective(const Application& application, const ObjectiveRun& run,
                      const std::string& device);

// Tunes `problems`, prints their fronts, and returns the exit status. A problem that has a front
// here for an objective of that name, with as much time, is kept unless run.retune says otherwise.
Result<int> TuneForObjective(Application& application, Workshop& workshop, const Place& place,
                             const ObjectiveRun& run, const std::vector<TaggedProblem>& problems);

// The figures of the database that `application` reads; null where nothing was kept yet.
Result<std::unique_ptr<FigureStore>> FiguresToRead(const Application& application);

// Prints the fronts of `problems` as they were recorded on `target`.
Result<int> PrintFronts(Application& application, const ObjectiveRun& run, const Target& target,
                        const std::vector<TaggedProblem>& problems);

}  // namespace attune
