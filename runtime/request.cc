#include "runtime/request.h"

#include <utility>

#include "attune/formats/problem_line.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {

PlanKey KeyOfProblem(const Problem& problem, uint64_t workspace_limit_bytes) {
  const Fingerprint fingerprint = KeyOf(problem);
  PlanKey key;
  key.Append(fingerprint.high);
  key.Append(fingerprint.low);
  key.Append(workspace_limit_bytes);
  key.Append(uint64_t{0});
  return key;
}

Result<Problem> ProblemOf(const attune_gemm& call, CallClasses classes) {
  return GemmOperator().ReadCall(&call, classes);
}

Result<Problem> ProblemOf(const attune_conv& call, CallClasses classes) {
  return ConvOperator().ReadCall(&call, classes);
}

Result<Problem> ProblemOf(const char* text) {
  ATTUNE_ASSIGN_OR_RETURN(auto problems, ParseProblems(text));
  return OnlyProblem(std::move(problems));
}

}  // namespace attune
