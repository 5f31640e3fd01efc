#include "apps/attune/problem_argument.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/formats/problem_line.h"
#include "attune/record/weighted_problems.h"

namespace attune {

Result<std::vector<Problem>> ParseProblemArgument(const std::string& text) {
  auto problems = ParseProblems(text);
  if (!problems.ok()) {
    return InvalidArgument(
        fmt::format("The problem '{}' cannot be read. {} Write a canonical text such as "
                    "'gemm@1{{m=512,n=512,k=512}}' or a MIOpenDriver command line.",
                    Printable(text), problems.error().message()));
  }
  return problems;
}

Result<Problem> ParseOneProblem(const std::string& text) {
  ATTUNE_ASSIGN_OR_RETURN(auto problems, ParseProblemArgument(text));
  return OnlyProblem(std::move(problems));
}

Result<std::vector<NetworkProblems>> SelectedNetworks(Application& application,
                                                      const ProblemSelection& selection) {
  if (selection.model.empty()) return std::vector<NetworkProblems>();
  return application.NetworksOf(selection.model, selection.framework);
}

Result<std::vector<TaggedProblem>> Resolve(Application& application,
                                           const ProblemSelection& selection) {
  std::vector<TaggedProblem> all;
  if (!selection.tag.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(all, application.ProblemsOf(selection.tag));
  } else if (!selection.model.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const auto networks, SelectedNetworks(application, selection));
    WeightedProblems sum;
    for (const NetworkProblems& network : networks) sum.Add(network.problems);
    all = sum.Take();
  } else if (!selection.session.empty() && selection.problems.empty()) {
    ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
    ATTUNE_ASSIGN_OR_RETURN(all, application.ProblemsOfSession());
  }
  std::set<Fingerprint> seen;
  for (const TaggedProblem& tagged : all) seen.insert(KeyOf(tagged.problem));
  for (const std::string& text : selection.problems) {
    ATTUNE_ASSIGN_OR_RETURN(const auto problems, ParseProblemArgument(text));
    for (const Problem& problem : problems) {
      if (seen.insert(KeyOf(problem)).second) all.push_back({problem, 1});
    }
  }
  return all;
}

}  // namespace attune
