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
// twice, and for what is no name.
Result<std::vector<std::string>> ParseObjectives(const std::string& text);

// What `names` mean for `problem`, which is of the user's kernel in `kernel_file`. kInvalidArgument
// for a figure of nothing. REQUIRES: CheckObjective, of these names and that file.
Result<Sought> SoughtBy(const std::vector<std::string>& names, const std::string& kernel_file,
                        const Place& place, const Problem& problem);

// What is to be run.
struct ObjectiveRun {
  std::string objective;    // As it was typed.
  std::string kernel_file;  // Of --kernel; empty without it.
  TuneOptions tune;
  RunOptions run;
  bool json = false;
};

// kInvalidArgument for what --objective does not go with, and for a name that is no figure of the
// kernel, with those that are.
Status CheckObjective(const Application& application, const ObjectiveRun& run,
                      const std::string& device);

// Tunes `problems`, prints their fronts, and gives the exit status. What has a front here by an
// objective of that name, and had as much time, is kept unless run.retune says otherwise.
Result<int> TuneForObjective(Application& application, Workshop& workshop, const Place& place,
                             const ObjectiveRun& run, const std::vector<TaggedProblem>& problems);

// The figures of the database that `application` reads; null where nothing was kept yet.
Result<std::unique_ptr<FigureStore>> FiguresToRead(const Application& application);

// Prints the fronts of `problems` as they were recorded on `target`.
Result<int> PrintFronts(Application& application, const ObjectiveRun& run, const Target& target,
                        const std::vector<TaggedProblem>& problems);

}  // namespace attune
