#include "attune/tuner/tuner.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "attune/trial/match_policy.h"
#include "attune/tuner/tuning_session.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

// The copies of the operands have this many times the size of the cache.
constexpr int64_t kStreamsOfCache = 3;

}  // namespace

std::string_view Name(TuneProgress::Stage stage) {
  switch (stage) {
    case TuneProgress::Stage::kEnumerate:
      return "enumerate";
    case TuneProgress::Stage::kWait:
      return "wait";
    case TuneProgress::Stage::kReference:
      return "reference";
    case TuneProgress::Stage::kQualify:
      return "qualify";
    case TuneProgress::Stage::kScreen:
      return "screen";
    case TuneProgress::Stage::kFinal:
      return "final";
    case TuneProgress::Stage::kRecord:
      return "record";
  }
  return "unknown";
}

TuneOptions OptionsFor(TuneOptions options, const Problem& problem, const Target& target) {
  const auto found = target.properties.find("l2_bytes");
  const bool may_rotate = options.rotates_streams && options.cache == CacheState::kWarm &&
                          problem.op().IsMemoryBound() && found != target.properties.end();
  if (!may_rotate) return options;
  const int64_t l2_bytes = std::strtoll(found->second.c_str(), nullptr, 10);
  int64_t operand_bytes = 0;
  for (const Operand& operand : Operands(problem)) {
    operand_bytes += static_cast<int64_t>(SpanBytes(operand.tensor));
  }
  if (operand_bytes >= kStreamsOfCache * l2_bytes) return options;
  options.cache = CacheState::kRotating;
  options.terms.rotation_bytes = kStreamsOfCache * l2_bytes;
  return options;
}

Tuner::Tuner(TunerParts parts, TuneOptions options)
    : parts_(std::move(parts)), options_(std::move(options)) {}

namespace {

Status CheckNotExcluded(const Solver& solver, const std::set<std::string>& libraries) {
  for (const std::string& library : libraries) {
    if (!RunsLibrary(solver.id().name, library)) continue;
    return Unsupported(
        fmt::format("{} runs code of {}, which is switched off.", solver.id().name, library));
  }
  return Status::Ok();
}

Status Check(const TuneOptions& options) {
  const int64_t rotation_bytes = options.terms.rotation_bytes;
  if ((options.cache == CacheState::kRotating) == (rotation_bytes > 0)) return Status::Ok();
  return InvalidArgument(fmt::format(
      "The caches are to be {} while times are taken, and copies of the operands have {} "
      "bytes: rotating needs copies, and nothing else has them.",
      Name(options.cache), rotation_bytes));
}

// Appends after the entries of `elsewhere`.
void AddPriors(std::span<const PriorRecords> priors, const Problem& problem,
               TimesOfPlaces& elsewhere) {
  for (const PriorRecords& prior : priors) {
    for (const auto& [solver, places] : prior.Find(problem)) {
      std::vector<std::vector<ConfigTime>>& known = elsewhere[solver];
      known.insert(known.end(), places.begin(), places.end());
    }
  }
}

}  // namespace

bool Tuner::Excludes(const Solver& solver) const {
  return !CheckNotExcluded(solver, options_.excluded_libraries).ok();
}

Result<std::vector<RecordedSet>> Tuner::FindFinals(const Problem& problem) const {
  RecordQuery query;
  query.problem = problem;
  query.backend = parts_.target.backend;
  query.roles = {TrialRole::kFinal};
  std::vector<RecordedSet> finals;
  const CacheState cache = OptionsFor(options_, problem, parts_.target).cache;
  ATTUNE_RETURN_IF_ERROR(parts_.store->Visit(query, [&](const RecordedSet& recorded) {
    const bool has_final = !recorded.records.empty();
    if (has_final && recorded.set.cache == cache) finals.push_back(recorded);
    return Status::Ok();
  }));
  return finals;
}

std::optional<Choice> Tuner::Select(std::span<const RecordedSet> finals) const {
  SelectOptions select = options_.select;
  // A record of a solver that may not take part decides nothing.
  select.known_solvers.clear();
  for (const auto& solver : *parts_.solvers) {
    if (!Excludes(*solver)) select.known_solvers.push_back(solver->id());
  }
  return SelectBest(finals, parts_.target, parts_.environment, select, nullptr);
}

Result<std::optional<Choice>> Tuner::FindStanding(const Problem& problem) const {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<RecordedSet> finals, FindFinals(problem));
  return Select(finals);
}

Tuner::Applicability Tuner::FindSolvers(const Problem& problem) const {
  Applicability result;
  for (const auto& solver : *parts_.solvers) {
    Status status = CheckNotExcluded(*solver, options_.excluded_libraries);
    if (status.ok()) status = solver->IsApplicable(problem, parts_.target);
    if (status.ok()) {
      result.solvers.push_back(solver.get());
    } else {
      result.refused.emplace_back(solver.get(), std::move(status));
    }
  }
  return result;
}

bool Tuner::IsWanted(const Solver& solver) const {
  if (!options_.only_solvers.empty()) return options_.only_solvers.contains(solver.id().name);
  return options_.solver_filter.empty() ? !solver.traits().last_resort : IsNamed(solver);
}

bool Tuner::IsNamed(const Solver& solver) const {
  const auto& filter = options_.solver_filter;
  return std::any_of(filter.begin(), filter.end(), [&](const std::string& part) {
    return solver.id().name.find(part) != std::string::npos;
  });
}

Result<std::vector<const Solver*>> Tuner::FindParticipants(const Problem& problem) const {
  ATTUNE_RETURN_IF_ERROR(ProblemData::CheckMemory(problem));
  const Applicability found = FindSolvers(problem);
  if (found.solvers.empty()) {
    const std::string_view operator_name = problem.op().NameOf(problem);
    const auto of_operator = std::ranges::find_if(found.refused, [&](const auto& refused) {
      const std::string& computes = refused.first->traits().operator_name;
      return computes.empty() || computes == operator_name;
    });
    if (of_operator == found.refused.end()) {
      return Unsupported(fmt::format("None of the {} solvers of this backend computes {}: {}",
                                     found.refused.size(), operator_name, Text(problem)));
    }
    return Unsupported(fmt::format("No solver applies to {}; the first of {} says: {}",
                                   Text(problem), operator_name, of_operator->second.message()));
  }
  // The baseline is the first that applies, and takes part even if the filter does not name it.
  const Solver& baseline = *found.solvers.front();
  std::vector<const Solver*> chosen = {&baseline};
  for (const Solver* solver : found.solvers) {
    if (solver != &baseline && IsWanted(*solver)) chosen.push_back(solver);
  }
  const Status choice = CheckLeavesAChoice(baseline);
  const bool is_asked_for = IsNamed(baseline) || options_.only_solvers.contains(baseline.id().name);
  if (choice.ok() || chosen.size() > 1 || is_asked_for) return chosen;
  return Unsupported(fmt::format("{} It is timed all the same if the solver filter names it: {}.",
                                 choice.message(), baseline.id().name));
}

Result<TuneReport> Tuner::Tune(const Problem& problem, const Listener& listener,
                               const TuneBounds& bounds) {
  ATTUNE_RETURN_IF_ERROR(Check(options_));
  const TuneOptions options = OptionsFor(options_, problem, parts_.target);
  ATTUNE_ASSIGN_OR_RETURN(const auto participants, FindParticipants(problem));
  ATTUNE_ASSIGN_OR_RETURN(std::optional<Choice> standing, FindStanding(problem));
  TimesOfPlaces elsewhere;
  // Nothing is searched if everything is tried, or one config of each solver.
  const bool searches = options_.searcher != "exhaustive" && options_.only_configs.empty();
  if (searches && parts_.other_places != nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(elsewhere, parts_.other_places->Find(*parts_.store, problem));
  }
  if (searches) AddPriors(parts_.priors, problem, elsewhere);
  TuningSession session(parts_, options, problem, listener);
  session.BeginWith(std::move(elsewhere));
  if (standing.has_value()) session.Challenge(std::move(*standing));
  const bool takes_part = options_.served.has_value() &&
                          std::ranges::any_of(participants, [this](const Solver* solver) {
                            return solver->id() == options_.served->solver;
                          });
  if (takes_part) session.Include(*options_.served);
  return session.Run(participants, bounds);
}

}  // namespace attune
