#include "attune/dispatch/dispatcher.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/base/exit_gate.h"
#include "attune/dispatch/shortage.h"
#include "attune/solver/code_keeper.h"

namespace attune {
namespace {

// Neighbours that are looked at: the nearest one's candidates may all be inapplicable.
constexpr size_t kNeighbours = 3;

// Candidates whose times a model is asked for: at most some ten microseconds of a caller's time.
constexpr size_t kPredictedInHaste = 32;
constexpr size_t kPredictedAtLeisure = 1024;

// What every operand starts at a multiple of; 1 of operators that do not say.
int64_t AlignmentOf(const Problem& problem) { return FieldOr(problem, kAlignmentField, 1); }

}  // namespace

struct Dispatcher::Draft {
  const Problem& problem;
  const ChoiceSource& choices;
  uint64_t workspace_limit_bytes;
  Breadth breadth;
  Launches launches;
  Decision decision = {};
  std::vector<std::string> refused = {};  // Why solvers of its operator do not apply.
  bool has_applicable = false;            // Whether one does.
  Shortage shortage = {};
  std::vector<Candidate> uncapturable = {};  // Left out for that alone.

  bool LeavesOut(const Candidate& candidate) const {
    return std::find(uncapturable.begin(), uncapturable.end(), candidate) != uncapturable.end();
  }
};

namespace {

std::string WhyNotCaptured(const Candidate& candidate) {
  return fmt::format("{} cannot be captured: where it was measured, no graph could hold it.",
                     Text(candidate));
}

// Of those that are predicted to be quicker than the default, at `of_default`, those that are so by
// more than the model errs stay before it, how many is returned, and the others follow it.
size_t PutAheadWhoIsSurelyQuicker(std::vector<PredictedCandidate>& predicted,
                                  std::vector<PredictedCandidate>::iterator of_default) {
  const double default_ns = of_default->time_ns;
  const auto rest = std::stable_partition(
      predicted.begin(), of_default,
      [&](const PredictedCandidate& each) { return each.high_ns < default_ns; });
  std::rotate(rest, of_default, of_default + 1);
  return static_cast<size_t>(rest - predicted.begin());
}

}  // namespace

Dispatcher::Dispatcher(DispatchParts parts, DispatchOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
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
  // A library's own list is longer than the space, and it checks what it is given.
  if (SolverOf(candidate)->traits().listed_on_device) return Status::Ok();
  return IsInSpace(problem, candidate);
}

Status Dispatcher::IsInSpace(const Problem& problem, const Candidate& candidate) const {
  ATTUNE_RETURN_IF_ERROR(Applies(problem, candidate));
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space,
                          SolverOf(candidate)->Space(problem, parts_.target));
  if (!space.IndexOf(candidate.config).has_value()) {
    return Unsupported(
        fmt::format("{} has no such parameters for this problem here.", Text(candidate)));
  }
  return Status::Ok();
}

Status Dispatcher::FitsUntried(const Problem& problem, const Candidate& candidate) const {
  ATTUNE_RETURN_IF_ERROR(Applies(problem, candidate));
  if (!SolverOf(candidate)->ServesUntried(candidate.config)) {
    return Unsupported(fmt::format(
        "{} computes some problems wrongly, and was never run on this one.", Text(candidate)));
  }
  const SolverTraits& traits = SolverOf(candidate)->traits();
  if (!traits.listed_on_device) return IsInSpace(problem, candidate);
  if (traits.checks_alignment || AlignmentOf(problem) >= kWideAlignmentBytes) return Status::Ok();
  // What a solver names for this very problem is what anybody would be served by.
  if (IsInSpace(problem, candidate).ok()) return Status::Ok();
  return Unsupported(
      fmt::format("{} may need operands that are aligned to {} bytes, and these are to {}.",
                  Text(candidate), kWideAlignmentBytes, AlignmentOf(problem)));
}

bool Dispatcher::Add(Draft& draft, Option option) const {
  if (option.workspace_bytes >= 0 &&
      static_cast<uint64_t>(option.workspace_bytes) > draft.workspace_limit_bytes) {
    draft.shortage.Note(option.candidate, static_cast<uint64_t>(option.workspace_bytes));
    return false;
  }
  // A default may be what a record says that of.
  if (draft.launches == Launches::kCaptured && draft.LeavesOut(option.candidate)) return false;
  if (draft.launches == Launches::kCaptured && option.fails_capture) {
    draft.decision.skipped.push_back(WhyNotCaptured(option.candidate));
    draft.uncapturable.push_back(std::move(option.candidate));
    return false;
  }
  auto& options = draft.decision.options;
  const bool known = std::any_of(options.begin(), options.end(), [&](const Option& other) {
    return other.candidate == option.candidate;
  });
  if (known || !RunsHere(option.candidate) || !InScope(draft.problem, option)) return false;
  option.keeps_special_values = SolverOf(option.candidate)->KeepsSpecialValues(draft.problem);
  option.fails_at_exit = FailsAtExit(*SolverOf(option.candidate));
  option.threads = static_cast<int>(ThreadsOf(option.candidate));
  options.push_back(std::move(option));
  return true;
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
  if (const int allowed = max_threads(); allowed < target.compute_units) {
    target.compute_units = static_cast<int>(std::bit_floor(static_cast<unsigned>(allowed)));
  }
  return target;
}

Result<Candidate> Dispatcher::DefaultOf(const Solver& solver, const Problem& problem) const {
  const bool is_host = parts_.target.backend == "host";
  ATTUNE_ASSIGN_OR_RETURN(Config config,
                          solver.DefaultConfig(problem, is_host ? AllowedTarget() : parts_.target));
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

Result<Decision> Dispatcher::Decide(const Problem& problem, const ChoiceSource& choices,
                                    uint64_t workspace_limit_bytes, Breadth breadth,
                                    Launches launches) const {
  Draft draft{problem, choices, workspace_limit_bytes, breadth, launches};
  ATTUNE_RETURN_IF_ERROR(AddForced(draft));
  if (draft.decision.is_tuned) return std::move(draft.decision);
  AddRecords(draft);
  if (!draft.decision.is_tuned) {
    AddNeighbours(draft);
    if (!options_.known_only) AddPredicted(draft);
  }
  if (!options_.known_only) AddDefaults(draft);
  if (!draft.decision.options.empty() || breadth == Breadth::kReady) {
    return std::move(draft.decision);
  }
  if (!draft.shortage.empty()) return draft.shortage.ToStatus(problem, workspace_limit_bytes);
  if (options_.known_only) {
    return NotFound(fmt::format(
        "Nobody has measured anything better than the default for {} on {}, and this run time "
        "serves only what is known. {}",
        Text(problem), Text(parts_.target), fmt::join(draft.decision.skipped, " ")));
  }
  if (!draft.uncapturable.empty()) {
    return FailedPrecondition(fmt::format(
        "Nothing that computes {} on {} can become part of a graph. {} Call it outside of the "
        "capture.",
        Text(problem), Text(parts_.target), fmt::join(draft.decision.skipped, " ")));
  }
  if (draft.refused.empty() && draft.has_applicable) {
    return ResourceExhausted(fmt::format(
        "No candidate for {} fits: the workspace is limited to {} bytes and the scope is '{}'.",
        Text(problem), workspace_limit_bytes, Name(options_.scope)));
  }
  std::string reasons = fmt::format("No solver here computes {}.", Text(problem));
  for (const std::string& reason : draft.refused) reasons += " " + reason;
  return Unsupported(std::move(reasons));
}

Status Dispatcher::AddForced(Draft& draft) const {
  const ForcedChoices::Entry* entry = options_.forced.Find(draft.problem);
  if (entry == nullptr) return Status::Ok();
  Option option;
  option.origin = Origin::kForced;
  option.because = "It is forced.";
  option.candidate.solver = entry->solver->id();
  if (entry->config.has_value()) {
    option.candidate.config = *entry->config;
  } else {
    ATTUNE_RETURN_IF_ERROR(
        Applies(draft.problem, option.candidate).WithContext("The forced choice cannot serve"));
    const auto candidate = DefaultOf(*entry->solver, draft.problem);
    if (!candidate.ok()) return candidate.error().WithContext("The forced choice cannot serve");
    option.candidate = *candidate;
  }
  ATTUNE_RETURN_IF_ERROR(
      Fits(draft.problem, option.candidate).WithContext("The forced choice cannot serve"));
  ATTUNE_RETURN_IF_ERROR(
      WhyNotHere(option.candidate).WithContext("The forced choice cannot serve"));
  option.keeps_special_values = entry->solver->KeepsSpecialValues(draft.problem);
  option.fails_at_exit = FailsAtExit(*entry->solver);
  option.threads = static_cast<int>(ThreadsOf(option.candidate));
  draft.decision.options.push_back(std::move(option));
  draft.decision.is_tuned = true;
  return Status::Ok();
}

Judgement Dispatcher::JudgeChoice(const IndexedChoice& choice) const {
  const auto judge = [&](const RankedCandidate& ranked) {
    return parts_.match.Judge(ranked.candidate, *choice.target, *choice.environment, parts_.target,
                              parts_.environment);
  };
  Judgement best = judge(choice.best());
  if (best.validity == Validity::kInvalid) return best;
  // Its speed-up was over a default that may be gone.
  const Judgement fallback = judge(choice.ranking[choice.default_position]);
  return fallback.validity > best.validity ? fallback : best;
}

void Dispatcher::AddRecords(Draft& draft) const {
  draft.decision.skipped = draft.choices.Unusable(draft.problem);
  const auto found = draft.choices.Find(draft.problem);
  if (!found.ok()) {
    draft.decision.skipped.push_back(found.error().message());
    return;
  }
  std::vector<const IndexedChoice*> compatible;
  for (const IndexedChoice& choice : *found) {
    const Judgement judgement = JudgeChoice(choice);
    if (options_.known_only && choice.default_position == 0 &&
        judgement.validity != Validity::kInvalid) {
      // Bit for bit what the caller would compute without us.
      draft.decision.is_tuned = judgement.validity == Validity::kHolds;
      return;
    }
    if (judgement.validity == Validity::kHolds) {
      AddRanking(draft, choice, choice.is_override ? Origin::kForced : Origin::kMeasured,
                 choice.because.empty() ? "A record of this machine chose it." : choice.because);
      draft.decision.is_tuned = !draft.decision.options.empty() ||
                                !RunsHere(choice.best().candidate) ||
                                IsUnwanted(draft.problem, choice.best().candidate) ||
                                draft.LeavesOut(choice.best().candidate);
      if (draft.decision.is_tuned) return;
      continue;
    }
    draft.decision.skipped.push_back(judgement.reason);
    if (judgement.validity == Validity::kCompatible) compatible.push_back(&choice);
  }
  for (const IndexedChoice* choice : compatible) {
    AddRanking(draft, *choice, Origin::kCompatible,
               fmt::format("A compatible record of {} chose it.", Text(*choice->target)));
    if (!draft.decision.options.empty()) return;
  }
}

void Dispatcher::AddRanking(Draft& draft, const IndexedChoice& choice, Origin origin,
                            const std::string& because) const {
  bool is_first = true;
  for (const RankedCandidate& ranked : choice.ranking) {
    if (options_.known_only && &ranked == &choice.ranking[choice.default_position]) return;
    const Status applies = MayServe(draft.problem, ranked.candidate);
    if (!applies.ok()) {
      if (is_first) draft.decision.skipped.push_back(applies.message());
      // What won exists no more, so the record decides nothing: it is as good as none.
      const bool is_gone = is_first && !IsUnwanted(draft.problem, ranked.candidate);
      if (is_gone && origin != Origin::kCompatible) return;
      continue;
    }
    const Status here = WhyNotHere(ranked.candidate);
    if (is_first && !here.ok()) draft.decision.skipped.push_back(here.message());
    Option option;
    option.candidate = ranked.candidate;
    option.origin = origin;
    option.because = is_first ? because : "The same measurements put it behind.";
    option.median_ns = ranked.median_ns;
    option.workspace_bytes = ranked.workspace_bytes;
    option.load_ns = ranked.load_ns;
    option.is_override = choice.is_override;
    option.fails_capture = ranked.fails_capture;
    Add(draft, std::move(option));
    // Only a record has measured the others.
    if (!choice.because.empty()) return;
    is_first = false;
  }
}

void Dispatcher::AddNeighbours(Draft& draft) const {
  const auto neighbours =
      draft.choices.Nearest(draft.problem, kNeighbours, options_.max_neighbour_distance);
  if (!neighbours.ok()) {
    draft.decision.skipped.push_back(neighbours.error().message());
    return;
  }
  for (const Neighbour& neighbour : *neighbours) {
    // Nearness looks at sizes alone. Candidates that were tried on operands that are aligned better
    // may read words that these do not begin at, which ends the context of the calling program.
    if (AlignmentOf(neighbour.problem) > AlignmentOf(draft.problem)) continue;
    const auto found = draft.choices.Find(neighbour.problem);
    if (!found.ok()) continue;
    for (const IndexedChoice& choice : *found) {
      if (JudgeChoice(choice).validity == Validity::kInvalid) continue;
      if (options_.known_only && choice.default_position == 0) break;
      const double scale = Flops(draft.problem) / std::max(Flops(neighbour.problem), 1.0);
      for (const RankedCandidate& ranked : choice.ranking) {
        const Judgement judgement =
            parts_.match.Judge(ranked.candidate, *choice.target, *choice.environment, parts_.target,
                               parts_.environment);
        if (judgement.validity == Validity::kInvalid) continue;
        Option option;
        option.candidate = ranked.candidate;
        option.origin = Origin::kNearest;
        option.expected_ns = ranked.median_ns * scale;
        option.load_ns = ranked.load_ns;
        option.fails_capture = ranked.fails_capture;
        if (draft.breadth == Breadth::kReady && !IsQuickOnceBuilt(option)) {
          draft.decision.is_provisional = true;
          continue;
        }
        if (!MayServe(draft.problem, ranked.candidate).ok()) continue;
        if (!SolverOf(ranked.candidate)->ServesUntried(ranked.candidate.config)) continue;
        option.because = fmt::format("It is the choice of {}, at distance {:.2f}.",
                                     Text(neighbour.problem), neighbour.distance);
        Add(draft, std::move(option));
      }
      break;  // The newest choice of this neighbour is enough.
    }
  }
}

const Solver* Dispatcher::FirstAsked(const Draft& draft) const {
  for (const auto& solver : *parts_.solvers) {
    const SolverTraits& traits = solver->traits();
    if (traits.operator_name != OperatorName(draft.problem)) continue;
    if (draft.breadth == Breadth::kReady && !traits.instant) continue;
    if (MayServe(draft.problem, *solver).ok()) return solver.get();
  }
  return nullptr;
}

void Dispatcher::AddPredicted(Draft& draft) const {
  if (parts_.predictor == nullptr || !parts_.predictor->Knows(draft.problem)) return;
  const Solver* const first = FirstAsked(draft);
  if (first == nullptr) return;
  const auto fallback = DefaultOf(*first, draft.problem);
  if (!fallback.ok()) return;
  const bool is_hasty = draft.breadth == Breadth::kReady;
  std::map<SolverId, bool> usable;
  const auto is_wanted = [&](const Candidate& candidate) {
    const auto [found, is_new] = usable.try_emplace(candidate.solver, false);
    if (is_new) {
      const Solver* const solver = SolverOf(candidate);
      const bool is_asked = solver != nullptr && (!is_hasty || solver->traits().instant);
      draft.decision.is_provisional =
          draft.decision.is_provisional || (solver != nullptr && !is_asked);
      found->second = is_asked && MayServe(draft.problem, *solver).ok();
    }
    // Where somebody waits, its parameters are looked at when it is loaded.
    return found->second && (is_hasty || FitsUntried(draft.problem, candidate).ok());
  };
  // Who is quicker than the default can only be said where its own time is predicted, too.
  std::vector<PredictedCandidate> predicted = parts_.predictor->Predict(
      draft.problem, *fallback, is_wanted, is_hasty ? kPredictedInHaste : kPredictedAtLeisure);
  const auto of_default = std::ranges::find(predicted, *fallback, &PredictedCandidate::candidate);
  if (of_default == predicted.end()) return;
  const auto quicker = static_cast<size_t>(of_default - predicted.begin());
  // What somebody waits for is made ready first, which models know nothing of, and the default is
  // what takes least.
  const bool is_doubted =
      is_hasty && PutAheadWhoIsSurelyQuicker(predicted, of_default) == 0 && quicker > 0;
  for (const PredictedCandidate& each : predicted) {
    Option option;
    option.candidate = each.candidate;
    option.origin = Origin::kPredicted;
    option.because = &each != &predicted.front() ? "The same model puts it behind."
                     : is_doubted ? "A model is not sure enough that anything is quicker."
                                  : "A model expects it to be the quickest.";
    option.expected_ns = each.time_ns;
    Add(draft, std::move(option));
  }
}

void Dispatcher::AddDefaults(Draft& draft) const {
  auto& options = draft.decision.options;
  const auto is_instant = [&](const Option& option) {
    const SolverTraits& traits = SolverOf(option.candidate)->traits();
    return traits.instant && !traits.last_resort;
  };
  bool has_instant = std::any_of(options.begin(), options.end(), is_instant);
  for (const auto& solver : *parts_.solvers) {
    if (draft.breadth != Breadth::kEverything && has_instant) return;
    const SolverTraits& traits = solver->traits();
    // Asking those of other operators would only cost the caller's time.
    if (traits.operator_name != OperatorName(draft.problem)) continue;
    if (draft.breadth == Breadth::kReady && !traits.instant) {
      has_instant = AddLoadedDefault(draft, *solver);
      draft.decision.is_provisional = draft.decision.is_provisional || options.empty();
      continue;
    }
    // Of those that are slow to create, the first is the default and the others help nobody now.
    if (draft.breadth == Breadth::kEnough && !options.empty() && !traits.instant) continue;
    const bool added = AddDefault(draft, *solver);
    has_instant = has_instant || (added && traits.instant && !traits.last_resort);
  }
}

bool Dispatcher::AddLoadedDefault(Draft& draft, const Solver& solver) const {
  const auto* const keeper = dynamic_cast<const CodeKeeper*>(&solver);
  if (keeper == nullptr || !keeper->HasLoadedAny()) return false;
  if (!MayServe(draft.problem, solver).ok()) return false;
  const auto candidate = DefaultOf(solver, draft.problem);
  if (!candidate.ok()) return false;
  if (!keeper->HasLoaded(draft.problem, candidate->config, *parts_.device)) return false;
  draft.has_applicable = true;
  Option option;
  option.candidate = *candidate;
  option.because = draft.decision.is_provisional
                       ? "Nothing is known of this problem; it stands in for the default."
                       : "Nothing is known of this problem; it is the default.";
  option.is_loaded = true;
  return Add(draft, std::move(option));
}

bool Dispatcher::AddDefault(Draft& draft, const Solver& solver) const {
  const Status applicable = MayServe(draft.problem, solver);
  if (!applicable.ok()) {
    draft.refused.push_back(applicable.message());
    return false;
  }
  const auto candidate = DefaultOf(solver, draft.problem);
  if (!candidate.ok()) {
    draft.refused.push_back(candidate.error().message());
    return false;
  }
  draft.has_applicable = true;
  Option option;
  option.candidate = *candidate;
  if (draft.decision.is_provisional) {
    option.because = "Nothing is known of this problem; it stands in for the default.";
  } else if (draft.decision.options.empty()) {
    option.because = "Nothing is known of this problem; it is the default.";
  } else {
    option.because = "It applies, after the default.";
  }
  return Add(draft, std::move(option));
}

}  // namespace attune
