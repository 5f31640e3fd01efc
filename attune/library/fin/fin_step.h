// Questions that AMD's `fin` answers about a convolution. docs/formats/fin.md.
#pragma once

#include <string_view>

namespace attune::fin {

enum class Step {
  kSolvers,        // Lists all solvers; of no problem.
  kApplicability,  // Lists the solvers that apply.
  kFindCompile,    // Compiles with the parameters of the databases, or those by default.
  kFindEval,       // Times the kernels of the find compile step.
  kPerfCompile,    // Compiles every set of parameters.
  kPerfEval,       // Searches among them.
};

// "get_solvers", "miopen_find_compile".
std::string_view Name(Step step);
// True if it needs the GPU.
bool NeedsDevice(Step step);
// True if its answer has an outcome for each solver.
bool IsPerSolver(Step step);
// The compile step of an evaluation. REQUIRES: NeedsDevice(step).
Step CompileOf(Step step);

}  // namespace attune::fin
