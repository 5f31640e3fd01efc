#include "attune/library/fin/fin_step.h"

#include <cassert>

namespace attune::fin {

std::string_view Name(Step step) {
  switch (step) {
    case Step::kSolvers:
      return "get_solvers";
    case Step::kApplicability:
      return "applicability";
    case Step::kFindCompile:
      return "miopen_find_compile";
    case Step::kFindEval:
      return "miopen_find_eval";
    case Step::kPerfCompile:
      return "miopen_perf_compile";
    case Step::kPerfEval:
      return "miopen_perf_eval";
  }
  return "";
}

bool NeedsDevice(Step step) { return step == Step::kFindEval || step == Step::kPerfEval; }

bool IsPerSolver(Step step) { return step != Step::kSolvers && step != Step::kApplicability; }

Step CompileOf(Step step) {
  assert(NeedsDevice(step));
  return step == Step::kFindEval ? Step::kFindCompile : Step::kPerfCompile;
}

}  // namespace attune::fin
