#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/base/process_room.h"
#include "attune/dispatch/dispatcher.h"
#include "attune/dispatch/shortage.h"
#include "attune/solver/code_keeper.h"

namespace attune {
namespace {

// What a plain reference makes of a problem, roughly, to know whether it can stand in.
constexpr double kLastResortFlopsPerNs = 0.5;
constexpr double kLongestStandInNs = 20e6;

Breadth FirstBreadth(Haste haste) {
  return haste == Haste::kPatient ? Breadth::kEnough : Breadth::kFirst;
}

Status StatusOf(const Failure& build) {
  if (build.kind == FailureKind::kOutOfMemory) return ResourceExhausted(build.message);
  if (build.kind == FailureKind::kNotApplicable) return Unsupported(build.message);
  return Internal(build.message);
}

}  // namespace

bool Dispatcher::NeedsCompiler(const Problem& problem, const Option& option) const {
  if (option.is_loaded) return false;
  const Solver* solver = SolverOf(option.candidate);
  if (solver == nullptr) return false;
  if (solver->traits().compiles_when_loaded) return true;
  if (!solver->traits().compiles) return false;
  const auto recipe = solver->Recipe(problem, option.candidate.config, parts_.target);
  // Without a recipe there is nothing to compile: Load says why.
  return recipe.ok() && !recipe->empty() && !parts_.kernels->Has(*recipe);
}

bool Dispatcher::IsQuickOnceBuilt(const Option& option) const {
  const Solver* solver = SolverOf(option.candidate);
  if (solver == nullptr) return false;
  if (solver->traits().instant || option.is_loaded) return true;
  if (option.load_ns < 0) return false;
  const double budget_ns = std::max(static_cast<double>(options_.creation_budget_ns),
                                    options_.creation_share * option.best_guess_ns());
  return static_cast<double>(option.load_ns) <= budget_ns;
}

bool Dispatcher::IsReady(const Problem& problem, const Option& option) const {
  return IsQuickOnceBuilt(option) && !NeedsCompiler(problem, option);
}

Result<std::unique_ptr<Plan>> Dispatcher::Load(const Problem& problem, const Option& option,
                                               uint64_t workspace_limit_bytes,
                                               LoadOutcome* outcome) const {
  *outcome = {};
  const Solver* solver = SolverOf(option.candidate);
  if (solver == nullptr) {
    return NotFound(fmt::format("Solver {} does not exist here.", Text(option.candidate.solver)));
  }
  // Defaults come out of the space; what was recorded, forced or predicted may be of another one.
  if (option.origin == Origin::kPredicted) {
    ATTUNE_RETURN_IF_ERROR(FitsUntried(problem, option.candidate));
  } else if (option.origin != Origin::kDefault) {
    ATTUNE_RETURN_IF_ERROR(Fits(problem, option.candidate));
  }
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                          LoadExecutable(problem, option, *solver, *outcome));
  const uint64_t needed = executable->workspace_bytes();
  if (needed > workspace_limit_bytes) {
    outcome->excess_bytes = needed;
    return TooLarge(option.candidate, needed, problem, workspace_limit_bytes);
  }
  ATTUNE_RETURN_IF_ERROR(CheckWorkspace(option.candidate, needed));
  return std::make_unique<Plan>(problem, workspace_limit_bytes, option, std::move(executable));
}

Result<std::unique_ptr<Executable>> Dispatcher::LoadExecutable(const Problem& problem,
                                                               const Option& option,
                                                               const Solver& solver,
                                                               LoadOutcome& outcome) const {
  const auto* const keeper = dynamic_cast<const CodeKeeper*>(&solver);
  if (option.is_loaded && keeper != nullptr) {
    auto again = keeper->LoadAgain(problem, option.candidate.config, *parts_.device);
    if (again.ok() || again.error().code() != StatusCode::kNotFound) return again;
  }
  const BuildRequest request{&solver, problem, option.candidate.config};
  const BuildOutcome built = builder_->Build(request, parts_.target);
  // Not for a failure that is remembered.
  outcome.has_built =
      (!built.from_cache && built.build_ns > 0) || solver.traits().compiles_when_loaded;
  if (const Failure* failure = built.failure()) return StatusOf(*failure);
  ATTUNE_ASSIGN_OR_RETURN(LoadedCandidate loaded,
                          builder_->Load(request, *built.artifact(), *parts_.device));
  if (loaded.is_out_of_state) outcome.has_built = !built.from_cache && built.build_ns > 0;
  return std::move(loaded.executable);
}

// Exceeding the memory of a cgroup ends the program, so large workspaces must leave a margin.
Status Dispatcher::CheckWorkspace(const Candidate& candidate, uint64_t needed_bytes) const {
  constexpr uint64_t kLargeBytes = uint64_t{16} << 20;
  constexpr uint64_t kShare = 4;  // At most a quarter of the room.
  if (needed_bytes < kLargeBytes || parts_.target.backend != "host") return Status::Ok();
  const uint64_t room = std::min(AddressRoom(), MemoryRoom());
  if (needed_bytes <= room / kShare) return Status::Ok();
  return ResourceExhausted(
      fmt::format("{} needs {} bytes of workspace, and the limits of this process (memory cgroup, "
                  "ulimit -v) leave {}.",
                  Text(candidate), needed_bytes, room));
}

bool Dispatcher::Compiles(const Candidate& candidate) const {
  const Solver* solver = SolverOf(candidate);
  return solver != nullptr && (solver->traits().compiles || solver->traits().compiles_when_loaded);
}

bool Dispatcher::Crawls(const Problem& problem, const Option& option) const {
  return SolverOf(option.candidate)->traits().last_resort &&
         Flops(problem) > kLongestStandInNs * kLastResortFlopsPerNs;
}

bool Refutes(const Status& failure, const Option& option) {
  const bool is_recorded = option.is_override || option.origin == Origin::kMeasured ||
                           option.origin == Origin::kCompatible ||
                           option.origin == Origin::kNearest;
  return is_recorded && failure.code() != StatusCode::kResourceExhausted;
}

struct Dispatcher::Attempt {
  const Problem& problem;
  const uint64_t workspace_limit_bytes;
  const Haste haste;
  const Launches launches;
  Serving serving = {};
  Status failure = {};                 // Of the option that was tried last.
  Shortage shortage = {};              // Of those that were tried.
  std::vector<Candidate> failed = {};  // Each is tried once.
  std::vector<Option> slow = {};       // Of the last decision: not tried, because they take long.
};

bool Dispatcher::Yields(const Attempt& attempt) const {
  return options_.yields && attempt.failure.code() == StatusCode::kResourceExhausted;
}

Result<Serving> Dispatcher::Serve(const Problem& problem, const ChoiceSource& choices,
                                  uint64_t workspace_limit_bytes, Haste haste,
                                  Launches launches) const {
  Ranking ranking = Look(problem, choices, workspace_limit_bytes, launches);
  return Serve(ranking, haste);
}

Result<Serving> Dispatcher::Serve(Ranking& ranking, Haste haste) const {
  ATTUNE_RETURN_IF_ERROR(Rank(ranking, FirstBreadth(haste)));
  const Decision& decision = ranking.decision;
  Attempt attempt{ranking.problem, ranking.workspace_limit_bytes, haste, ranking.launches};
  attempt.serving.is_tuned = decision.is_tuned;
  attempt.serving.skipped = decision.skipped;
  const bool default_is_best = options_.known_only && decision.is_tuned && decision.options.empty();
  const bool is_forced = !decision.options.empty() && decision.options.front().fails_closed();
  if (TryReady(decision, attempt)) return std::move(attempt.serving);
  if (Yields(attempt)) return attempt.failure;
  if (default_is_best) return DefaultIsBest(attempt);
  // The ready options need more workspace, say, or their library is broken.
  const bool has_more_records = ranking.is_cut;
  for (const Breadth breadth : {Breadth::kReady, Breadth::kEverything}) {
    if (is_forced || (breadth == Breadth::kReady && !has_more_records)) continue;
    ATTUNE_RETURN_IF_ERROR(Rank(ranking, breadth));
    if (TryReady(decision, attempt)) return std::move(attempt.serving);
    if (Yields(attempt)) return attempt.failure;
  }
  return ServeSlowly(is_forced, attempt);
}

// Nothing is ready: better late than never.
Result<Serving> Dispatcher::ServeSlowly(bool is_forced, Attempt& attempt) const {
  const bool may_leave_it = options_.known_only && !is_forced && attempt.haste == Haste::kAtOnce;
  if (may_leave_it && !attempt.slow.empty()) return NotReady(attempt);
  if (TrySlow(is_forced, attempt)) return std::move(attempt.serving);
  if (Yields(attempt)) return attempt.failure;
  if (attempt.slow.empty()) return FailureOf(attempt);
  if (TryFallback(attempt)) return std::move(attempt.serving);
  if (attempt.haste == Haste::kAtOnce) return Unbuilt(attempt);
  if (TrySlow(true, attempt)) return std::move(attempt.serving);
  return FailureOf(attempt);
}

// Where memory was all that some lacked, the least that would do says most.
Status Dispatcher::FailureOf(const Attempt& attempt) const {
  if (attempt.shortage.empty()) return attempt.failure;
  return attempt.shortage.ToStatus(attempt.problem, attempt.workspace_limit_bytes);
}

bool Dispatcher::TrySlow(bool may_compile, Attempt& attempt) const {
  std::vector<Option> left;
  for (const Option& option : attempt.slow) {
    const bool needs_compiler = NeedsCompiler(attempt.problem, option);
    if (!may_compile && needs_compiler) {
      left.push_back(option);
      continue;
    }
    // To load what was compiled before takes milliseconds, which is no build.
    const bool is_loaded_only = SolverOf(option.candidate)->traits().compiles && !needs_compiler;
    attempt.serving.has_built = attempt.serving.has_built || !is_loaded_only;
    if (!Try(option, attempt)) {
      if (Yields(attempt)) return false;
      continue;
    }
    attempt.serving.is_stand_in = !left.empty();
    return true;
  }
  attempt.slow = std::move(left);
  return false;
}

std::optional<Option> Dispatcher::FallbackFor(const Problem& problem) const {
  if (parts_.fallback == nullptr) return std::nullopt;
  const std::optional<Candidate> candidate = parts_.fallback->For(problem);
  if (!candidate.has_value()) return std::nullopt;
  Option option;
  option.candidate = *candidate;
  option.because = parts_.fallback->because();
  option.fails_at_exit = device_fails_at_exit_;
  option.fails_capture = true;  // It computes when it is called, and nothing again at a replay.
  return option;
}

bool Dispatcher::TryFallback(Attempt& attempt) const {
  if (attempt.launches == Launches::kCaptured) return false;
  const std::optional<Option> option = FallbackFor(attempt.problem);
  if (!option.has_value()) return false;
  auto executable = parts_.fallback->Load(attempt.problem, option->candidate);
  if (!executable.ok()) {
    attempt.serving.failures.push_back(executable.error().message());
    return false;
  }
  attempt.serving.plan = std::make_unique<Plan>(attempt.problem, attempt.workspace_limit_bytes,
                                                *option, std::move(*executable));
  attempt.serving.is_stand_in = true;
  return true;
}

Serving Dispatcher::Unbuilt(Attempt& attempt) const {
  attempt.serving.plan = std::make_unique<Plan>(
      attempt.problem, attempt.workspace_limit_bytes,
      Unavailable(fmt::format(
          "Nothing that computes {} on {} is compiled yet. {} is being compiled in the background; "
          "call again after that (attune_wait_idle waits for it), or choose the policy 'inline' to "
          "have calls wait.",
          Text(attempt.problem), Text(parts_.target), Text(attempt.slow.front().candidate))));
  attempt.serving.is_stand_in = true;
  return std::move(attempt.serving);
}

Serving Dispatcher::NotReady(Attempt& attempt) const {
  Serving serving = LeftToCaller(
      attempt, fmt::format("{} is known for {}, and is being made ready in the background.",
                           Text(attempt.slow.front().candidate), Text(attempt.problem)));
  serving.is_stand_in = true;
  return serving;
}

Serving Dispatcher::DefaultIsBest(Attempt& attempt) const {
  return LeftToCaller(attempt,
                      fmt::format("The default was measured to be the best for {}, which is left "
                                  "to the caller, because this run time serves only what is known.",
                                  Text(attempt.problem)));
}

Serving Dispatcher::LeftToCaller(Attempt& attempt, std::string why) const {
  attempt.serving.plan = std::make_unique<Plan>(attempt.problem, attempt.workspace_limit_bytes,
                                                NotFound(std::move(why)));
  return std::move(attempt.serving);
}

Expectation Dispatcher::Expect(const Problem& problem, const Decision& decision,
                               Haste haste) const {
  const Option& preferred = decision.options.front();
  if (haste == Haste::kPatient || preferred.fails_closed()) {
    return {preferred, !IsReady(problem, preferred)};
  }
  const bool has_others = decision.options.size() > 1;
  for (const Option& option : decision.options) {
    const bool crawls = has_others && Crawls(problem, option);
    if (!crawls && IsReady(problem, option)) return {option, false};
  }
  for (const Option& option : decision.options) {
    if (!NeedsCompiler(problem, option)) return {option, true};
  }
  if (auto option = FallbackFor(problem)) return {std::move(option), false};
  if (haste == Haste::kUnlessStuck) return {preferred, true};
  return {std::nullopt, true};
}

bool Dispatcher::TryReady(const Decision& decision, Attempt& attempt) const {
  attempt.slow.clear();
  const bool has_others = decision.is_provisional || decision.options.size() > 1;
  for (const Option& option : decision.options) {
    const bool crawls = has_others && Crawls(attempt.problem, option);
    if (attempt.haste != Haste::kPatient && (crawls || !IsReady(attempt.problem, option))) {
      attempt.slow.push_back(option);
      continue;
    }
    if (!Try(option, attempt)) {
      if (Yields(attempt)) return false;
      continue;
    }
    attempt.serving.is_stand_in = decision.is_provisional || !attempt.slow.empty();
    return true;
  }
  return false;
}

bool Dispatcher::Try(const Option& option, Attempt& attempt) const {
  Serving& serving = attempt.serving;
  auto& failed = attempt.failed;
  if (std::find(failed.begin(), failed.end(), option.candidate) != failed.end()) return false;
  LoadOutcome outcome;
  auto plan = Load(attempt.problem, option, attempt.workspace_limit_bytes, &outcome);
  serving.has_built = serving.has_built || outcome.has_built;
  if (outcome.excess_bytes) attempt.shortage.Note(option.candidate, *outcome.excess_bytes);
  if (plan.ok()) {
    serving.plan = std::move(*plan);
    return true;
  }
  failed.push_back(option.candidate);
  attempt.failure = plan.error();
  const bool refuted = Refutes(attempt.failure, option);
  if (refuted && (option.is_override || option.origin == Origin::kMeasured)) {
    serving.is_tuned = false;
  }
  (refuted ? serving.skipped : serving.failures).push_back(attempt.failure.message());
  return false;
}

}  // namespace attune
