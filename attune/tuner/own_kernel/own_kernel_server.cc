#include "attune/tuner/own_kernel/own_kernel_server.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include "attune/tuner/own_kernel/constrained_solver.h"
#include "attune/tuner/own_kernel/own_kernel_check.h"

namespace attune {

Result<std::unique_ptr<OwnKernelServer>> OwnKernelServer::Create(kernel::KernelFile file,
                                                                 const OwnKernelPlace& place,
                                                                 Device& device,
                                                                 std::vector<TunedSize> tuned) {
  std::unique_ptr<OwnKernelServer> server(
      new OwnKernelServer(std::move(file), place, device, std::move(tuned)));
  ATTUNE_ASSIGN_OR_RETURN(
      const Solver* solver,
      FindOwnKernelSolver(server->file_, place.backend.solvers(), device.target()));
  server->solver_ = MakeConstrainedSolver(*solver, server->file_);
  return server;
}

Result<const ServedConfig*> OwnKernelServer::Select(const kernel::OwnSizes& sizes) {
  ATTUNE_ASSIGN_OR_RETURN(const Ready* ready, ReadyFor(sizes));
  return &ready->served;
}

Status OwnKernelServer::Launch(const kernel::OwnSizes& sizes,
                               const std::map<std::string, BufferView>& operands) {
  ATTUNE_ASSIGN_OR_RETURN(const Ready* ready, ReadyFor(sizes));
  std::vector<BufferView> views;
  for (const std::string& name : ready->operand_names) {
    const auto given = operands.find(name);
    if (given == operands.end()) {
      return InvalidArgument(
          fmt::format("Operand '{}' of kernel {} is missing.", name, file_.own->name));
    }
    views.push_back(given->second);
  }
  Arguments arguments;
  arguments.operands = views;
  if (ready->workspace != nullptr) arguments.workspace = ready->workspace->View(0);
  return ready->executable->Run(arguments);
}

Result<OwnKernelServer::Ready*> OwnKernelServer::ReadyFor(const kernel::OwnSizes& sizes) {
  auto found = ready_.find(sizes);
  if (found == ready_.end()) {
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, kernel::MakeOwnProblem(file_, sizes));
    ATTUNE_ASSIGN_OR_RETURN(Ready ready, Choose(sizes, problem));
    for (const Operand& operand : Operands(problem)) ready.operand_names.push_back(operand.name);
    if (ready.executable->workspace_bytes() > 0) {
      ATTUNE_ASSIGN_OR_RETURN(ready.workspace,
                              device_.Allocate(ready.executable->workspace_bytes()));
    }
    if (ready_.size() >= kMaxSizes) {
      // Its launches may still run.
      ATTUNE_RETURN_IF_ERROR(device_.Synchronize());
      ready_.erase(std::min_element(ready_.begin(), ready_.end(), [](const auto& a, const auto& b) {
        return a.second.last_used < b.second.last_used;
      }));
    }
    found = ready_.emplace(sizes, std::move(ready)).first;
  }
  found->second.last_used = ++uses_;
  return &found->second;
}

Result<OwnKernelServer::Ready> OwnKernelServer::Choose(const kernel::OwnSizes& sizes,
                                                       const Problem& problem) {
  ATTUNE_RETURN_IF_ERROR(solver_->IsApplicable(problem, device_.target()));
  std::optional<OwnKernelCheck> check;
  Ready ready;
  ready.served = ChooseConfig(tuned_, sizes, [&](const Config& config, ServedBy by) -> Status {
    ATTUNE_RETURN_IF_ERROR(CheckAllowed(file_, problem, config, device_.target()));
    if (by != ServedBy::kExact && !check.has_value()) {
      ATTUNE_ASSIGN_OR_RETURN(ChildOptions children, ChildrenAt(place_));
      children.run_deadline_ns = CheckDeadlineNs(tuned_, sizes, problem);
      check.emplace(std::move(children), solver_->id(), problem, std::stop_token());
    }
    if (by != ServedBy::kExact) ATTUNE_RETURN_IF_ERROR((*check)(config));
    ATTUNE_ASSIGN_OR_RETURN(ready.executable, Load(problem, config));
    return Status::Ok();
  });
  if (ready.served.by != ServedBy::kDefault) return ready;
  ATTUNE_ASSIGN_OR_RETURN(ready.served.config, solver_->DefaultConfig(problem, device_.target()));
  ATTUNE_ASSIGN_OR_RETURN(ready.executable, Load(problem, ready.served.config));
  return ready;
}

Result<std::unique_ptr<Executable>> OwnKernelServer::Load(const Problem& problem,
                                                          const Config& config) {
  const BuildOutcome built = builder_.Build({solver_.get(), problem, config}, device_.target());
  if (built.failure() != nullptr) return Unavailable(built.failure()->message);
  return solver_->Load(*built.artifact(), problem, config, device_);
}

}  // namespace attune
