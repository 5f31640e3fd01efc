// An Evaluator in the calling process: for tests with a fake device and for debugging. A crashing
// candidate takes the process with it.
#pragma once

#include <memory>

#include "attune/device/device.h"
#include "attune/solver/solver.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// `solvers` and `device` outlive the evaluator.
std::unique_ptr<Evaluator> MakeLocalEvaluator(const SolverList& solvers, Device& device);

}  // namespace attune
