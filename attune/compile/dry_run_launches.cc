#include "attune/compile/dry_run_launches.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/compile/profile_of.h"
#include "attune/solver/launch_planner.h"

namespace attune {
namespace {

constexpr size_t kLeastBytes = 64;

}  // namespace

Result<std::unique_ptr<DryRunLaunches>> DryRunLaunches::Create(const SolverList& solvers,
                                                               Device& device, KernelCache& cache) {
  auto* const observer = dynamic_cast<LaunchObserver*>(&device);
  if (observer == nullptr) {
    return Unsupported(
        fmt::format("The device {} does not tell what a call launches. Leave the dry run out.",
                    Text(device.target())));
  }
  return std::unique_ptr<DryRunLaunches>(new DryRunLaunches(solvers, device, *observer, cache));
}

Result<BufferView> DryRunLaunches::MemoryFor(size_t position, size_t size_bytes) const {
  std::unique_ptr<Buffer>& buffer = memory_[position];
  if (buffer == nullptr || buffer->size_bytes() < size_bytes) {
    buffer.reset();
    ATTUNE_ASSIGN_OR_RETURN(buffer, device_.Allocate(std::max(size_bytes, kLeastBytes)));
  }
  return buffer->View(0);
}

Result<std::vector<ObservedLaunch>> DryRunLaunches::DryRun(const Solver& solver,
                                                           const Problem& problem,
                                                           const Config& config) const {
  const BuildRequest request{&solver, problem, config};
  const BuildOutcome built = builder_.Build(request, device_.target());
  if (built.artifact() == nullptr) return Unsupported("It cannot be built.");
  ATTUNE_ASSIGN_OR_RETURN(const LoadedCandidate loaded,
                          builder_.Load(request, *built.artifact(), device_));
  std::vector<BufferView> operands;
  for (const Operand& operand : Operands(problem)) {
    ATTUNE_ASSIGN_OR_RETURN(const BufferView view,
                            MemoryFor(operands.size(), SpanBytes(operand.tensor)));
    operands.push_back(view);
  }
  Arguments arguments;
  ATTUNE_ASSIGN_OR_RETURN(arguments.workspace,
                          MemoryFor(operands.size(), loaded.executable->workspace_bytes()));
  arguments.operands = operands;
  return observer_.DryRun(*loaded.executable, arguments);
}

std::optional<LaunchProfile> DryRunLaunches::Find(const Problem& problem,
                                                  const Candidate& candidate) const {
  const Solver* const solver = FindSolver(solvers_, candidate.solver);
  const bool is_asked = solver != nullptr &&
                        dynamic_cast<const LaunchPlanner*>(solver) == nullptr &&
                        solver->IsApplicable(problem, device_.target()).ok();
  if (!is_asked) return std::nullopt;
  const auto launches = DryRun(*solver, problem, candidate.config);
  if (!launches.ok()) return std::nullopt;
  LaunchProfile profile = ProfileOf(*launches, observer_.multiprocessors());
  profile.needs_device = true;
  return profile;
}

}  // namespace attune
