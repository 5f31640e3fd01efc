#include "attune/tunable/own_results.h"

#include "attune/formats/cublaslt_name.h"
#include "attune/formats/tunable_names.h"

namespace attune {
ResultLine ResultLineOf(const TunableOpKey& names, const Problem& problem,
                        const TunedCandidate& tuned) {
  ResultLine line;
  line.key = names;
  line.solution = SolutionText(tuned.candidate);
  // A line that a user wrote may have no time.
  if (tuned.median_ns > 0) line.milliseconds = tuned.median_ns / 1e6;
  if (!line.key.op.starts_with(kOwnOperatorPrefix)) line.problem_text = Text(problem);
  return line;
}

std::string ResultsFileText(std::span<const TunedProblem> problems,
                            const TunableIdentity& identity) {
  std::string text;
  for (const Validator& validator : ValidatorsOf(identity)) text += ValidatorLine(validator) + "\n";
  for (const TunedProblem& problem : problems) {
    text += Text(ResultLineOf(NamesOf(problem.problem), problem.problem, problem.tuned)) + "\n";
  }
  return text;
}

}  // namespace attune
