#include "attune/tuner/own_kernel/constrained_solver.h"

#include <utility>

#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_plan.h"

namespace attune {
namespace {

class ConstrainedSolver final : public Solver {
 public:
  ConstrainedSolver(const Solver& solver, kernel::KernelFile file)
      : solver_(solver), file_(std::move(file)) {}

  const SolverId& id() const override { return solver_.id(); }
  const SolverTraits& traits() const override { return solver_.traits(); }
  bool KeepsSpecialValues(const Problem& problem) const override {
    return solver_.KeepsSpecialValues(problem);
  }
  Status IsApplicable(const Problem& problem, const Target& target) const override {
    return solver_.IsApplicable(problem, target);
  }
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Config limits, kernel::DeviceLimitsOf(target, file_.language));
    return kernel::MakeSortedSpace(file_, problem, limits);
  }
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Config limits, kernel::DeviceLimitsOf(target, file_.language));
    ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, kernel::MakeSpace(file_, problem, limits));
    return space.At(0);
  }
  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const override {
    return solver_.Recipe(problem, config, target);
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override { return solver_.Build(recipe); }
  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config& config, Device& device) const override {
    return solver_.Load(artifact, problem, config, device);
  }

 private:
  const Solver& solver_;
  const kernel::KernelFile file_;
};

}  // namespace

std::unique_ptr<const Solver> MakeConstrainedSolver(const Solver& solver, kernel::KernelFile file) {
  return std::make_unique<ConstrainedSolver>(solver, std::move(file));
}

Status CheckAllowed(const kernel::KernelFile& file, const Problem& problem, const Config& config,
                    const Target& target) {
  ATTUNE_ASSIGN_OR_RETURN(const Config limits, kernel::DeviceLimitsOf(target, file.language));
  return kernel::CheckConstraints(file, problem, config, limits);
}

std::function<bool(const Problem&, const Candidate&)> AllowedBy(const kernel::KernelFile& file,
                                                                const Target& target) {
  if (file.predicates.empty()) return nullptr;
  return [&file, target](const Problem& problem, const Candidate& candidate) {
    return CheckAllowed(file, problem, candidate.config, target).ok();
  };
}

}  // namespace attune
