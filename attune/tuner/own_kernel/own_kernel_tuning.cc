#include "attune/tuner/own_kernel/own_kernel_tuning.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "attune/measure/clock.h"
#include "attune/tuner/own_kernel/constrained_solver.h"

namespace attune {

Result<const Solver*> FindOwnKernelSolver(const kernel::KernelFile& file, const SolverList& solvers,
                                          const Target& target) {
  const SolverId id{fmt::format("{}.{}", target.backend, file.own->name), file.version};
  const Solver* const solver = FindSolver(solvers, id);
  if (solver != nullptr) return solver;
  return NotFound(
      fmt::format("There is no solver {} on '{}'. Put the kernel file into ATTUNE_KERNEL_PATH.",
                  Text(id), Text(target)));
}

Result<ChildOptions> ChildrenAt(const OwnKernelPlace& place) {
  return ChildrenOn(place.backend, place.device_spec, place.evaluator, place.variables);
}

Result<ChildOptions> ChildrenOn(const Backend& backend, const std::string& device_spec,
                                const std::filesystem::path& evaluator,
                                const std::vector<std::string>& variables) {
  ChildOptions children;
  children.program = evaluator;
  if (children.program.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(children.program, FindEvaluatorProgram());
  }
  children.device = device_spec;
  children.variables = variables;
  ShareIfCostly(backend, children);
  return children;
}

Result<TuneReport> TuneOwnKernel(const OwnKernelPlace& place, const kernel::KernelFile& file,
                                 const kernel::OwnSizes& sizes, const TuneOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Problem problem, kernel::MakeOwnProblem(file, sizes));
  ATTUNE_ASSIGN_OR_RETURN(const ChildOptions children, ChildrenAt(place));
  const std::unique_ptr<Evaluator> evaluator = MakeChildEvaluator(children);
  SolverList constrained;
  if (!file.predicates.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const Solver* solver,
                            FindOwnKernelSolver(file, place.backend.solvers(), place.target));
    constrained.push_back(MakeConstrainedSolver(*solver, file));
    // An empty space is an error here; the tuner would report only that nothing could be timed.
    ATTUNE_RETURN_IF_ERROR(constrained.front()->Space(problem, place.target).status());
  }
  SteadyClock clock;
  OtherPlaces other_places(place.target);
  TunerParts parts;
  parts.solvers = constrained.empty() ? &place.backend.solvers() : &constrained;
  parts.target = place.target;
  parts.environment = place.environment;
  parts.store = &place.store;
  parts.evaluator = evaluator.get();
  parts.clock = &clock;
  parts.other_places = &other_places;
  TuneOptions terms = options;
  terms.select.allows = AllowedBy(file, place.target);
  Tuner tuner(parts, terms);
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Choice> standing, tuner.FindStanding(problem));
  if (!standing.has_value()) return tuner.Tune(problem);
  TuneReport report;
  report.choice = std::move(standing);
  return report;
}

}  // namespace attune
