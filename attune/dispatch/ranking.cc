#include "attune/dispatch/ranking.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/dispatch/dispatcher.h"
#include "attune/solver/code_keeper.h"

namespace attune {
namespace {

// Neighbours that are looked at: the nearest one's candidates may all be inapplicable.
constexpr size_t kNeighbours = 3;

// Candidates whose times a model is asked for: at most some ten microseconds of a caller's time.
constexpr size_t kPredictedInHaste = 32;
constexpr size_t kPredictedAtLeisure = 1024;

std::string WhyNotCaptured(const Candidate& candidate) {
  return fmt::format("{} cannot be captured: where it was measured, no graph could hold it.",
                     Text(candidate));
}

// Moves the default, at `of_default`, ahead of the candidates that may be slower: those that are
// predicted to be quicker by no more than the model errs. Returns the number of those before it.
size_t PutSurelyQuickerFirst(std::vector<PredictedCandidate>& predicted,
                             std::vector<PredictedCandidate>::iterator of_default) {
  const double default_ns = of_default->time_ns;
  const auto rest = std::stable_partition(
      predicted.begin(), of_default,
      [&](const PredictedCandidate& each) { return each.high_ns < default_ns; });
  std::rotate(rest, of_default, of_default + 1);
  return static_cast<size_t>(rest - predicted.begin());
}

// True if its candidates are ready whatever the problem.
bool IsInstant(const Solver& solver) {
  const SolverTraits& traits = solver.traits();
  return traits.instant && !traits.last_resort && !traits.compiles && !traits.compiles_when_loaded;
}

}  // namespace

bool Dispatcher::Add(Ranking& ranking, Option option) const {
  if (option.workspace_bytes >= 0 &&
      static_cast<uint64_t>(option.workspace_bytes) > ranking.workspace_limit_bytes) {
    ranking.shortage.Note(option.candidate, static_cast<uint64_t>(option.workspace_bytes));
    return false;
  }
  // A default may be what a record says that of.
  if (ranking.launches == Launches::kCaptured && ranking.LeavesOut(option.candidate)) return false;
  if (ranking.launches == Launches::kCaptured && option.fails_capture) {
    ranking.decision.skipped.push_back(WhyNotCaptured(option.candidate));
    ranking.uncapturable.push_back(std::move(option.candidate));
    return false;
  }
  auto& options = ranking.decision.options;
  const bool known = std::any_of(options.begin(), options.end(), [&](const Option& other) {
    return other.candidate == option.candidate;
  });
  if (known || !RunsHere(option.candidate) || !InScope(ranking.problem, option)) return false;
  const Solver& solver = *SolverOf(option.candidate);
  option.keeps_special_values = solver.KeepsSpecialValues(ranking.problem);
  option.fails_at_exit = FailsAtExit(solver);
  option.threads = static_cast<int>(ThreadsOf(option.candidate));
  options.push_back(std::move(option));
  return true;
}

Result<Decision> Dispatcher::Decide(const Problem& problem, const ChoiceSource& choices,
                                    uint64_t workspace_limit_bytes, Breadth breadth,
                                    Launches launches) const {
  Ranking ranking = Look(problem, choices, workspace_limit_bytes, launches);
  ATTUNE_RETURN_IF_ERROR(Rank(ranking, breadth));
  return std::move(ranking.decision);
}

Ranking Dispatcher::Look(const Problem& problem, const ChoiceSource& choices,
                         uint64_t workspace_limit_bytes, Launches launches) const {
  Ranking ranking{.problem = problem,
                  .choices = &choices,
                  .workspace_limit_bytes = workspace_limit_bytes,
                  .launches = launches,
                  .forced = options_.forced.Find(problem)};
  if (ranking.forced != nullptr) return ranking;
  ranking.unusable = choices.Unusable(problem);
  ranking.recorded = choices.Find(problem);
  return ranking;
}

Status Dispatcher::Rank(Ranking& ranking, Breadth breadth) const {
  if (ranking.breadth == breadth) return Status::Ok();
  ranking.breadth = breadth;
  ranking.is_cut = false;
  ranking.decision = {};
  ranking.refused.clear();
  ranking.has_applicable = false;
  ranking.shortage = {};
  ranking.uncapturable.clear();
  const Status added = AddOptions(ranking);
  // A later Rank() of the same breadth fails again.
  if (!added.ok()) ranking.breadth.reset();
  return added;
}

Status Dispatcher::AddOptions(Ranking& ranking) const {
  if (ranking.forced != nullptr) return AddForced(ranking);
  AddRecords(ranking);
  if (!ranking.decision.is_tuned) {
    AddNeighbours(ranking);
    if (!options_.known_only) AddPredicted(ranking);
  }
  if (!options_.known_only) AddDefaults(ranking);
  if (!ranking.decision.options.empty() || ranking.is_hasty()) return Status::Ok();
  return WhyNoOption(ranking);
}

Status Dispatcher::WhyNoOption(const Ranking& ranking) const {
  const Problem& problem = ranking.problem;
  const std::vector<std::string>& skipped = ranking.decision.skipped;
  if (!ranking.shortage.empty()) {
    return ranking.shortage.ToStatus(problem, ranking.workspace_limit_bytes);
  }
  if (options_.known_only) {
    return NotFound(fmt::format(
        "Nobody has measured anything better than the default for {} on {}, and this run time "
        "serves only what is known. {}",
        Text(problem), Text(parts_.target), fmt::join(skipped, " ")));
  }
  if (!ranking.uncapturable.empty()) {
    return FailedPrecondition(fmt::format(
        "Nothing that computes {} on {} can become part of a graph. {} Call it outside of the "
        "capture.",
        Text(problem), Text(parts_.target), fmt::join(skipped, " ")));
  }
  if (ranking.refused.empty() && ranking.has_applicable) {
    return ResourceExhausted(fmt::format(
        "No candidate for {} fits: the workspace is limited to {} bytes and the scope is '{}'.",
        Text(problem), ranking.workspace_limit_bytes, Name(options_.scope)));
  }
  std::string reasons = fmt::format("No solver here computes {}.", Text(problem));
  for (const std::string& reason : ranking.refused) reasons += " " + reason;
  return Unsupported(std::move(reasons));
}

Status Dispatcher::AddForced(Ranking& ranking) const {
  const ForcedChoices::Entry* const entry = ranking.forced;
  Option option;
  option.origin = Origin::kForced;
  option.because = "It is forced.";
  option.candidate.solver = entry->solver->id();
  if (entry->config.has_value()) {
    option.candidate.config = *entry->config;
  } else {
    ATTUNE_RETURN_IF_ERROR(
        Applies(ranking.problem, option.candidate).WithContext("The forced choice cannot serve"));
    const auto candidate = DefaultOf(*entry->solver, ranking.problem);
    if (!candidate.ok()) return candidate.error().WithContext("The forced choice cannot serve");
    option.candidate = *candidate;
  }
  ATTUNE_RETURN_IF_ERROR(
      Fits(ranking.problem, option.candidate).WithContext("The forced choice cannot serve"));
  ATTUNE_RETURN_IF_ERROR(
      WhyNotHere(option.candidate).WithContext("The forced choice cannot serve"));
  option.keeps_special_values = entry->solver->KeepsSpecialValues(ranking.problem);
  option.fails_at_exit = FailsAtExit(*entry->solver);
  option.threads = static_cast<int>(ThreadsOf(option.candidate));
  ranking.decision.options.push_back(std::move(option));
  ranking.decision.is_tuned = true;
  return Status::Ok();
}

Judgement Dispatcher::JudgeChoice(const IndexedChoice& choice) const {
  // Everything holds where nothing differs.
  if (*choice.target == parts_.target && *choice.environment == parts_.environment) return {};
  const Judgement best = Judge(choice, choice.best());
  if (best.validity == Validity::kInvalid || choice.default_position == 0) return best;
  // Its speed-up was over a default that may be gone.
  const Judgement fallback = Judge(choice, choice.ranking[choice.default_position]);
  return fallback.validity > best.validity ? fallback : best;
}

Judgement Dispatcher::Judge(const IndexedChoice& choice, const RankedCandidate& ranked) const {
  return parts_.match.Judge(ranked.candidate, *choice.target, *choice.environment, parts_.target,
                            parts_.environment);
}

void Dispatcher::AddRecords(Ranking& ranking) const {
  ranking.decision.skipped = ranking.unusable;
  if (!ranking.recorded.ok()) {
    ranking.decision.skipped.push_back(ranking.recorded.error().message());
    return;
  }
  std::vector<const IndexedChoice*> compatible;
  for (const IndexedChoice& choice : *ranking.recorded) {
    const Judgement judgement = JudgeChoice(choice);
    if (options_.known_only && choice.default_position == 0 &&
        judgement.validity != Validity::kInvalid) {
      // Bit for bit what the caller would compute without us.
      ranking.decision.is_tuned = judgement.validity == Validity::kHolds;
      return;
    }
    if (judgement.validity == Validity::kHolds) {
      AddRanking(ranking, choice, choice.is_override ? Origin::kForced : Origin::kMeasured,
                 choice.because.empty() ? "A record of this machine chose it." : choice.because);
      ranking.decision.is_tuned = !ranking.decision.options.empty() ||
                                  !RunsHere(choice.best().candidate) ||
                                  IsUnwanted(ranking.problem, choice.best().candidate) ||
                                  ranking.LeavesOut(choice.best().candidate);
      if (ranking.decision.is_tuned) return;
      continue;
    }
    ranking.decision.skipped.push_back(judgement.reason);
    if (judgement.validity == Validity::kCompatible) compatible.push_back(&choice);
  }
  for (const IndexedChoice* choice : compatible) {
    AddRanking(ranking, *choice, Origin::kCompatible,
               fmt::format("A compatible record of {} chose it.", Text(*choice->target)));
    if (!ranking.decision.options.empty()) return;
  }
}

void Dispatcher::AddRanking(Ranking& ranking, const IndexedChoice& choice, Origin origin,
                            const std::string& because) const {
  bool is_first = true;
  for (const RankedCandidate& ranked : choice.ranking) {
    if (options_.known_only && &ranked == &choice.ranking[choice.default_position]) return;
    const Status applies = MayServe(ranking.problem, ranked.candidate);
    if (!applies.ok()) {
      if (is_first) ranking.decision.skipped.push_back(applies.message());
      // The winner is gone, so the record decides nothing.
      const bool is_gone = is_first && !IsUnwanted(ranking.problem, ranked.candidate);
      if (is_gone && origin != Origin::kCompatible) return;
      continue;
    }
    const Status here = WhyNotHere(ranked.candidate);
    if (is_first && !here.ok()) ranking.decision.skipped.push_back(here.message());
    Option option;
    option.candidate = ranked.candidate;
    option.origin = origin;
    option.because = is_first ? because : "The same measurements put it behind.";
    option.median_ns = ranked.median_ns;
    option.workspace_bytes = ranked.workspace_bytes;
    option.load_ns = ranked.load_ns;
    option.is_override = choice.is_override;
    option.fails_capture = ranked.fails_capture;
    const bool is_added = Add(ranking, std::move(option));
    // Only a record has measured the others.
    if (!choice.because.empty()) return;
    ranking.is_cut = is_added && ranking.breadth == Breadth::kFirst &&
                     ranking.launches == Launches::kExecuted &&
                     IsInstant(*SolverOf(ranked.candidate));
    if (ranking.is_cut) return;
    is_first = false;
  }
}

Result<std::vector<NearChoice>> Dispatcher::FindNear(const Ranking& ranking) const {
  ATTUNE_ASSIGN_OR_RETURN(
      std::vector<Neighbour> neighbours,
      ranking.choices->Nearest(ranking.problem, kNeighbours, options_.max_neighbour_distance));
  std::vector<NearChoice> near;
  for (Neighbour& neighbour : neighbours) {
    // Nearness looks at sizes alone. Candidates that were tried on operands that are aligned better
    // may read words that these do not begin at, which ends the context of the calling program.
    if (AlignmentOf(neighbour.problem) > AlignmentOf(ranking.problem)) continue;
    auto found = ranking.choices->Find(neighbour.problem);
    if (!found.ok()) continue;
    const auto newest = std::ranges::find_if(*found, [&](const IndexedChoice& choice) {
      return JudgeChoice(choice).validity != Validity::kInvalid;
    });
    if (newest == found->end()) continue;
    if (options_.known_only && newest->default_position == 0) continue;
    near.push_back({std::move(neighbour), std::move(*newest)});
  }
  return near;
}

void Dispatcher::AddNeighbours(Ranking& ranking) const {
  if (!ranking.near.has_value()) ranking.near = FindNear(ranking);
  if (!ranking.near->ok()) {
    ranking.decision.skipped.push_back(ranking.near->error().message());
    return;
  }
  for (const NearChoice& near : **ranking.near) AddNearChoice(ranking, near);
}

void Dispatcher::AddNearChoice(Ranking& ranking, const NearChoice& near) const {
  const Problem& neighbour = near.neighbour.problem;
  const double scale = Flops(ranking.problem) / std::max(Flops(neighbour), 1.0);
  for (const RankedCandidate& ranked : near.choice.ranking) {
    if (Judge(near.choice, ranked).validity == Validity::kInvalid) continue;
    Option option;
    option.candidate = ranked.candidate;
    option.origin = Origin::kNearest;
    option.expected_ns = ranked.median_ns * scale;
    option.load_ns = ranked.load_ns;
    option.fails_capture = ranked.fails_capture;
    if (ranking.is_hasty() && !IsQuickOnceBuilt(option)) {
      ranking.decision.is_provisional = true;
      continue;
    }
    if (!MayServe(ranking.problem, ranked.candidate).ok()) continue;
    if (!SolverOf(ranked.candidate)->ServesUntried(ranked.candidate.config)) continue;
    option.because = fmt::format("It is the choice of {}, at distance {:.2f}.", Text(neighbour),
                                 near.neighbour.distance);
    Add(ranking, std::move(option));
  }
}

const Solver* Dispatcher::FirstAsked(const Ranking& ranking) const {
  for (const auto& solver : *parts_.solvers) {
    const SolverTraits& traits = solver->traits();
    if (traits.operator_name != OperatorName(ranking.problem)) continue;
    if (ranking.is_hasty() && !traits.instant) continue;
    if (MayServe(ranking.problem, *solver).ok()) return solver.get();
  }
  return nullptr;
}

void Dispatcher::AddPredicted(Ranking& ranking) const {
  if (parts_.predictor == nullptr || !parts_.predictor->Knows(ranking.problem)) return;
  const Solver* const first = FirstAsked(ranking);
  if (first == nullptr) return;
  const auto fallback = DefaultOf(*first, ranking.problem);
  if (!fallback.ok()) return;
  const bool is_hasty = ranking.is_hasty();
  std::map<SolverId, bool> usable;
  const auto is_wanted = [&](const Candidate& candidate) {
    const auto [found, is_new] = usable.try_emplace(candidate.solver, false);
    if (is_new) {
      const Solver* const solver = SolverOf(candidate);
      const bool is_asked = solver != nullptr && (!is_hasty || solver->traits().instant);
      ranking.decision.is_provisional =
          ranking.decision.is_provisional || (solver != nullptr && !is_asked);
      found->second = is_asked && MayServe(ranking.problem, *solver).ok();
    }
    // If a call waits, Load() checks the parameters.
    return found->second && (is_hasty || FitsUntried(ranking.problem, candidate).ok());
  };
  // Comparing with the default needs its predicted time.
  std::vector<PredictedCandidate> predicted = parts_.predictor->Predict(
      ranking.problem, *fallback, is_wanted, is_hasty ? kPredictedInHaste : kPredictedAtLeisure);
  const auto of_default = std::ranges::find(predicted, *fallback, &PredictedCandidate::candidate);
  if (of_default == predicted.end()) return;
  const auto quicker = static_cast<size_t>(of_default - predicted.begin());
  // Models do not predict how long a candidate takes to become ready, which a call waits for. The
  // default takes least.
  const bool is_doubted =
      is_hasty && PutSurelyQuickerFirst(predicted, of_default) == 0 && quicker > 0;
  for (const PredictedCandidate& each : predicted) {
    Option option;
    option.candidate = each.candidate;
    option.origin = Origin::kPredicted;
    option.because = &each != &predicted.front() ? "The same model puts it behind."
                     : is_doubted ? "A model is not sure enough that anything is quicker."
                                  : "A model expects it to be the quickest.";
    option.expected_ns = each.time_ns;
    Add(ranking, std::move(option));
  }
}

void Dispatcher::AddDefaults(Ranking& ranking) const {
  auto& options = ranking.decision.options;
  bool has_instant = std::ranges::any_of(options, [&](const Option& option) {
    const SolverTraits& traits = SolverOf(option.candidate)->traits();
    return traits.instant && !traits.last_resort;
  });
  for (const auto& solver : *parts_.solvers) {
    if (ranking.breadth != Breadth::kEverything && has_instant) return;
    const SolverTraits& traits = solver->traits();
    // Asking those of other operators would only cost the caller's time.
    if (traits.operator_name != OperatorName(ranking.problem)) continue;
    if (ranking.is_hasty() && !traits.instant) {
      has_instant = AddLoadedDefault(ranking, *solver);
      ranking.decision.is_provisional = ranking.decision.is_provisional || options.empty();
      continue;
    }
    // The first of the solvers that are slow to create is the default; the others cannot help now.
    if (ranking.breadth == Breadth::kEnough && !options.empty() && !traits.instant) continue;
    const bool added = AddDefault(ranking, *solver);
    has_instant = has_instant || (added && traits.instant && !traits.last_resort);
  }
}

bool Dispatcher::AddLoadedDefault(Ranking& ranking, const Solver& solver) const {
  const auto* const keeper = dynamic_cast<const CodeKeeper*>(&solver);
  if (keeper == nullptr || !keeper->HasLoadedAny()) return false;
  if (!MayServe(ranking.problem, solver).ok()) return false;
  const auto candidate = DefaultOf(solver, ranking.problem);
  if (!candidate.ok()) return false;
  if (!keeper->HasLoaded(ranking.problem, candidate->config, *parts_.device)) return false;
  ranking.has_applicable = true;
  Option option;
  option.candidate = *candidate;
  option.because = ranking.decision.is_provisional
                       ? "Nothing is known of this problem; it stands in for the default."
                       : "Nothing is known of this problem; it is the default.";
  option.is_loaded = true;
  return Add(ranking, std::move(option));
}

bool Dispatcher::AddDefault(Ranking& ranking, const Solver& solver) const {
  const Status applicable = MayServe(ranking.problem, solver);
  if (!applicable.ok()) {
    ranking.refused.push_back(applicable.message());
    return false;
  }
  const auto candidate = DefaultOf(solver, ranking.problem);
  if (!candidate.ok()) {
    ranking.refused.push_back(candidate.error().message());
    return false;
  }
  ranking.has_applicable = true;
  Option option;
  option.candidate = *candidate;
  if (ranking.decision.is_provisional) {
    option.because = "Nothing is known of this problem; it stands in for the default.";
  } else if (ranking.decision.options.empty()) {
    option.because = "Nothing is known of this problem; it is the default.";
  } else {
    option.because = "It applies, after the default.";
  }
  return Add(ranking, std::move(option));
}

}  // namespace attune
