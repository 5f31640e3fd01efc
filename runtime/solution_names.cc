#include "runtime/solution_names.h"

#include <fmt/format.h>

namespace attune {
namespace {

Result<Candidate> DefaultOf(const Solver& solver, const Problem& problem, const Target& target) {
  ATTUNE_RETURN_IF_ERROR(solver.IsApplicable(problem, target));
  ATTUNE_ASSIGN_OR_RETURN(Config config, solver.DefaultConfig(problem, target));
  return Candidate{solver.id(), std::move(config)};
}

Result<Candidate> FirstOf(const SolverList& solvers, const Problem& problem, const Target& target) {
  for (const auto& solver : solvers) {
    auto candidate = DefaultOf(*solver, problem, target);
    if (candidate.ok()) return candidate;
  }
  return Unsupported(fmt::format("No solver here computes {}.", Text(problem)));
}

Result<Candidate> ByName(const SolverList& solvers, const Problem& problem, const Target& target,
                         std::string_view name) {
  for (const auto& solver : solvers) {
    if (solver->id().name == name) return DefaultOf(*solver, problem, target);
  }
  return NotFound(fmt::format("There is no solver '{}' here.", name));
}

Status CheckHere(const SolverList& solvers, const Problem& problem, const Target& target,
                 const Candidate& candidate) {
  const Solver* solver = FindSolver(solvers, candidate.solver);
  if (solver == nullptr) {
    return NotFound(fmt::format("Solver {} does not exist here.", Text(candidate.solver)));
  }
  ATTUNE_RETURN_IF_ERROR(solver->IsApplicable(problem, target));
  // What the device's library lists is in no space; it is checked when it is loaded.
  if (solver->traits().listed_on_device) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver->Space(problem, target));
  if (space.IndexOf(candidate.config).has_value()) return Status::Ok();
  return Unsupported(
      fmt::format("{} has no such parameters for {} here.", Text(candidate), Text(problem)));
}

}  // namespace

SolutionResolver ResolverOf(const SolverList& solvers, const Target& target) {
  SolutionResolver resolver;
  resolver.default_of = [&solvers, target](const Problem& problem) {
    return FirstOf(solvers, problem, target);
  };
  resolver.find = [&solvers, target](const Problem& problem, std::string_view name) {
    return ByName(solvers, problem, target, name);
  };
  resolver.check = [&solvers, target](const Problem& problem, const Candidate& candidate) {
    return CheckHere(solvers, problem, target, candidate);
  };
  return resolver;
}

}  // namespace attune
