#include "attune/tuner/own_reference.h"

#include <memory>
#include <string>

#include <fmt/format.h>

#include "attune/problem/own_kernel.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_on_device.h"

namespace attune {

Result<const Solver*> FindOwnReference(const SolverList& solvers, const Problem& problem,
                                       const Target& target) {
  std::string reason;
  for (const auto& solver : solvers) {
    if (!solver->traits().last_resort || solver->traits().operator_name != kOwnKernelOperator) {
      continue;
    }
    const Status applies = solver->IsApplicable(problem, target);
    if (applies.ok()) return solver.get();
    if (reason.empty()) reason = " " + applies.message();
  }
  return Unsupported(
      fmt::format("No kernel file here has the reference of {}.{} 'attune tune --kernel FILE' or "
                  "ATTUNE_KERNEL_PATH names the file.",
                  Text(problem), reason));
}

Status LocalReferenceMaker::Make(const Problem& problem, int data_fd,
                                 const std::function<bool()>&) {
  ATTUNE_ASSIGN_OR_RETURN(const Solver* solver,
                          FindOwnReference(solvers_, problem, device_.target()));
  ATTUNE_ASSIGN_OR_RETURN(const Config config, solver->DefaultConfig(problem, device_.target()));
  const BuildOutcome built = builder_.Build({solver, problem, config}, device_.target());
  if (built.failure() != nullptr) return Unavailable(built.failure()->message);
  ATTUNE_ASSIGN_OR_RETURN(const auto executable,
                          solver->Load(*built.artifact(), problem, config, device_));
  ATTUNE_ASSIGN_OR_RETURN(ReferenceDraft draft, ReferenceDraft::Map(problem, data_fd));
  return ComputeOwnReferenceOn(device_, *executable, problem, draft);
}

}  // namespace attune
