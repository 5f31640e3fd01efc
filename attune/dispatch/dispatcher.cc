#include "attune/dispatch/dispatcher.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "attune/base/exit_gate.h"
#include "attune/dispatch/shortage.h"
#include "attune/solver/config_checker.h"

namespace attune {
namespace {

// What every operand starts at a multiple of; 1 of operators that do not say.
int64_t AlignmentOf(const Problem& problem) { return FieldOr(problem, kAlignmentField, 1); }

}  // namespace

Dispatcher::Dispatcher(DispatchParts parts, DispatchOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      allowed_target_(AllowedTarget()),
      device_fails_at_exit_(parts_.device != nullptr && parts_.device->fails_at_exit()),
      builder_(std::make_unique<Builder>(*parts_.kernels, BuilderOptions{.warns = false})) {}

const Solver* Dispatcher::SolverOf(const Candidate& candidate) const {
  return FindSolver(*parts_.solvers, candidate.solver);
}

Status Dispatcher::Applies(const Problem& problem, const Candidate& candidate) const {
  const Solver* solver = SolverOf(candidate);
  if (solver == nullptr) {
    return NotFound(fmt::format("Solver {} does not exist here.", Text(candidate.solver)));
  }
  return IsApplicable(problem, *solver);
}

Status Dispatcher::IsApplicable(const Problem& problem, const Solver& solver) const {
  if (ExitGate::IsClosed() && FailsAtExit(solver)) {
    return ResourceExhausted(fmt::format(
        "{} needs objects of its library that an exit destroys, and the process is exiting.",
        Text(solver.id())));
  }
  return solver.IsApplicable(problem, parts_.target);
}

bool Dispatcher::FailsAtExit(const Solver& solver) const {
  return solver.traits().fails_at_exit || device_fails_at_exit_;
}

bool Dispatcher::IsUnwanted(const Problem& problem, const Solver& solver) const {
  return options_.ieee_special_values && problem.op().PromisesSpecialValues() &&
         !solver.KeepsSpecialValues(problem);
}

bool Dispatcher::IsUnwanted(const Problem& problem, const Candidate& candidate) const {
  const Solver* solver = SolverOf(candidate);
  return solver != nullptr && IsUnwanted(problem, *solver);
}

Status Dispatcher::MayServe(const Problem& problem, const Solver& solver) const {
  if (IsUnwanted(problem, solver)) {
    return Unsupported(fmt::format("{} may lose NaN and infinity, but ieee_special_values is set.",
                                   Text(solver.id())));
  }
  return IsApplicable(problem, solver);
}

Status Dispatcher::MayServe(const Problem& problem, const Candidate& candidate) const {
  const Solver* solver = SolverOf(candidate);
  return solver == nullptr ? Applies(problem, candidate) : MayServe(problem, *solver);
}

Status Dispatcher::Fits(const Problem& problem, const Candidate& candidate) const {
  ATTUNE_RETURN_IF_ERROR(Applies(problem, candidate));
  const Solver& solver = *SolverOf(candidate);
  // A library's own list is longer than the space, and it checks what it is given.
  if (solver.traits().listed_on_device) return Status::Ok();
  return IsInSpace(problem, candidate, solver);
}

Status Dispatcher::IsInSpace(const Problem& problem, const Candidate& candidate,
                             const Solver& solver) const {
  ATTUNE_ASSIGN_OR_RETURN(const bool has_config, HasConfig(problem, candidate.config, solver));
  if (!has_config) {
    return Unsupported(
        fmt::format("{} has no such parameters for this problem here.", Text(candidate)));
  }
  return Status::Ok();
}

Result<bool> Dispatcher::HasConfig(const Problem& problem, const Config& config,
                                   const Solver& solver) const {
  const auto* const checker = dynamic_cast<const ConfigChecker*>(&solver);
  if (checker != nullptr) return checker->HasConfig(problem, config, parts_.target);
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver.Space(problem, parts_.target));
  return space.IndexOf(config).has_value();
}

Status Dispatcher::FitsUntried(const Problem& problem, const Candidate& candidate) const {
  ATTUNE_RETURN_IF_ERROR(Applies(problem, candidate));
  const Solver& solver = *SolverOf(candidate);
  if (!solver.ServesUntried(candidate.config)) {
    return Unsupported(fmt::format(
        "{} computes some problems wrongly, and was never run on this one.", Text(candidate)));
  }
  const SolverTraits& traits = solver.traits();
  if (!traits.listed_on_device) return IsInSpace(problem, candidate, solver);
  if (traits.checks_alignment || AlignmentOf(problem) >= kWideAlignmentBytes) return Status::Ok();
  // What a solver names for this very problem is what anybody would be served by.
  if (IsInSpace(problem, candidate, solver).ok()) return Status::Ok();
  return Unsupported(
      fmt::format("{} may need operands that are aligned to {} bytes, and these are to {}.",
                  Text(candidate), kWideAlignmentBytes, AlignmentOf(problem)));
}

Status Dispatcher::WhyNotHere(const Candidate& candidate) const {
  if (options_.max_threads > 0 && ThreadsOf(candidate) > options_.max_threads) {
    return ResourceExhausted(fmt::format("{} computes on {} threads, and the program allows {}.",
                                         Text(candidate), ThreadsOf(candidate),
                                         options_.max_threads));
  }
  if (!options_.after_fork) return Status::Ok();
  const Solver* solver = SolverOf(candidate);
  if (solver == nullptr || solver->RunsAfterFork(candidate.config)) return Status::Ok();
  return FailedPrecondition(
      fmt::format("{} waits for threads that stayed in the process that this one was forked from.",
                  Text(candidate)));
}

int64_t Dispatcher::ThreadsOf(const Candidate& candidate) const {
  if (parts_.target.backend != "host") return 1;
  const auto threads = candidate.config.find("threads");
  if (threads == candidate.config.end()) return 1;
  const auto* number = std::get_if<int64_t>(&threads->second);
  return number == nullptr ? 1 : *number;
}

int Dispatcher::max_threads() const {
  if (parts_.target.backend != "host") return 1;
  const int cores = std::max(1, static_cast<int>(parts_.target.compute_units));
  return options_.max_threads > 0 ? std::min(options_.max_threads, cores) : cores;
}

Target Dispatcher::AllowedTarget() const {
  Target target = parts_.target;
  if (target.backend != "host") return target;
  if (const int allowed = max_threads(); allowed < target.compute_units) {
    target.compute_units = static_cast<int>(std::bit_floor(static_cast<unsigned>(allowed)));
  }
  return target;
}

Result<Candidate> Dispatcher::DefaultOf(const Solver& solver, const Problem& problem) const {
  ATTUNE_ASSIGN_OR_RETURN(Config config, solver.DefaultConfig(problem, allowed_target_));
  Candidate first{solver.id(), std::move(config)};
  if (RunsHere(first)) return first;
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver.Space(problem, parts_.target));
  for (uint64_t i = 1; i < space.size(); ++i) {
    Candidate candidate{solver.id(), space.At(i)};
    if (RunsHere(candidate)) return candidate;
  }
  return WhyNotHere(first);
}

Result<Decision> Dispatcher::DecideWithin(const Problem& problem, const ChoiceSource& choices,
                                          uint64_t workspace_limit_bytes) const {
  ATTUNE_ASSIGN_OR_RETURN(Decision decision,
                          Decide(problem, choices, workspace_limit_bytes, Breadth::kEverything));
  Shortage shortage;
  std::vector<Option> fitting;
  for (Option& option : decision.options) {
    if (option.workspace_bytes < 0 && IsReady(problem, option)) {
      LoadOutcome outcome;
      const auto plan = Load(problem, option, kNoWorkspaceLimit, &outcome);
      // Whoever serves it hears why it cannot be made.
      if (plan.ok()) option.workspace_bytes = static_cast<int64_t>((*plan)->workspace_bytes());
    }
    const bool fits = option.workspace_bytes < 0 ||
                      static_cast<uint64_t>(option.workspace_bytes) <= workspace_limit_bytes;
    if (fits) {
      fitting.push_back(std::move(option));
    } else {
      shortage.Note(option.candidate, static_cast<uint64_t>(option.workspace_bytes));
    }
  }
  if (fitting.empty()) return shortage.ToStatus(problem, workspace_limit_bytes);
  decision.options = std::move(fitting);
  return decision;
}

bool Dispatcher::InScope(const Problem& problem, const Option& option) const {
  if (options_.scope == Scope::kAll) return true;
  const Solver* solver = SolverOf(option.candidate);
  if (options_.scope == Scope::kDynamic) return solver->traits().dynamic;
  return IsReady(problem, option);
}

}  // namespace attune
