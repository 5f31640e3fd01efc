// What AMD's `fin` can be asked about a convolution. docs/formats/fin.md.
#pragma once

#include <string_view>

namespace attune::fin {

enum class Step {
  kSolvers,        // Which solvers there are; of no problem.
  kApplicability,  // Which of them apply.
  kFindCompile,    // Compiles with the parameters of the databases, or those by default.
  kFindEval,       // Times what was so compiled.
  kPerfCompile,    // Compiles every set of parameters.
  kPerfEval,       // Searches among them.
};

// "get_solvers", "miopen_find_compile".
std::string_view Name(Step step);
// Whether it needs the GPU.
bool NeedsDevice(Step step);
// Whether its answer has an outcome for each solver.
bool IsPerSolver(Step step);
// Of an evaluation: what it evaluates. REQUIRES: NeedsDevice(step).
Step CompileOf(Step step);

}  // namespace attune::fin
