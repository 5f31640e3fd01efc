#include "apps/attune/choices.h"

#include <map>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/labels.h"
#include "attune/library/library_backend.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

// Finished sets of the backend of `place`, by problem text, with the data to choose from.
using SetsByProblem = std::map<std::string, std::vector<RecordedSet>, std::less<>>;

Status LoadSets(RecordStore& store, RecordQuery query, const Place& place,
                const std::optional<CacheState>& cache, SetsByProblem& sets) {
  query.backend = std::string(place.backend->name());
  query.roles = {TrialRole::kFinal};
  query.finished_only = true;
  return store.Visit(query, [&](const RecordedSet& set) {
    if (!cache || *cache == set.set.cache) sets[Text(set.set.problem)].push_back(set);
    return Status::Ok();
  });
}

ChosenProblem Choose(const Place& place, const TaggedProblem& tagged,
                     const std::vector<RecordedSet>& sets) {
  ChosenProblem chosen{tagged, Status::Ok(), std::nullopt, {}, {}, {}, {}};
  chosen.choice =
      SelectBest(sets, place.target, place.environment, SelectionAt(place), &chosen.notes);
  for (const RecordedSet& set : sets) {
    if (chosen.choice && set.set.id == chosen.choice->set_id) chosen.conditions = set.conditions;
  }
  if (chosen.choice) return chosen;
  const auto fallback = DefaultCandidate(place, tagged.problem);
  chosen.supported = CheckTunable(place, tagged.problem, fallback);
  if (!fallback) return chosen;
  Choice choice;
  choice.problem = tagged.problem;
  choice.target = place.target;
  choice.candidate = *fallback;
  choice.default_candidate = *fallback;
  chosen.choice = std::move(choice);
  return chosen;
}

// The part that `candidate` had in a set.
struct Part {
  bool took_part = false;
  bool was_timed = false;
  int64_t load_ns = 0;
  std::optional<Failure> failure;
};

Result<Part> PartOf(RecordStore& store, const Choice& choice, const Candidate& candidate) {
  Part part;
  RecordQuery query;
  query.problem = choice.problem;
  query.backend = choice.target.backend;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& set) {
    if (set.set.id != choice.set_id) return Status::Ok();
    for (const Record& record : set.records) {
      if (record.trial.candidate != candidate) continue;
      part.took_part = true;
      part.was_timed |= record.trial.role != TrialRole::kQualify;
      part.load_ns = record.trial.load_ns;
      if (record.trial.failure() != nullptr) part.failure = *record.trial.failure();
    }
    return Status::Ok();
  }));
  return part;
}

}  // namespace

bool NobodyTells(const ChosenProblem& problem) {
  return !problem.choice && problem.supported.code() == StatusCode::kUnavailable;
}

Peaks HighestPeaks(std::span<const RecordedSet> sets, const Place& place) {
  Peaks peaks;
  for (const RecordedSet& set : sets) {
    if (set.set.target == place.target) peaks = HighestOf(peaks, set.set.peaks);
  }
  return peaks;
}

double RooflineFraction(const Choice& choice, const Peaks& peaks) {
  return choice.measurement.median_ns > 0
             ? RooflineSeconds(choice.problem, peaks) * 1e9 / choice.measurement.median_ns
             : 0;
}

const SupportCheck::Side* SupportCheck::SideAt(size_t index) {
  const std::lock_guard lock(mutex_);
  for (; sides_.size() <= index && asked_ < backends_.size(); ++asked_) {
    const auto& backend = backends_[asked_];
    for (const DeviceReport& device : backend->Devices()) {
      if (!device.reason.empty()) continue;
      sides_.push_back({backend.get(), device.target});
      break;
    }
  }
  return index < sides_.size() ? &sides_[index] : nullptr;
}

Status SupportCheck::Check(const Problem& problem) {
  ATTUNE_RETURN_IF_ERROR(ProblemData::CheckMemory(problem));
  const std::string_view name = OperatorName(problem);
  Status closest =
      Unsupported(fmt::format("No solver of this build computes the operator '{}'.", name));
  bool refused = false;
  const Solver* last_resort = nullptr;  // The first of those that apply.
  for (size_t i = 0; const Side* side = SideAt(i); ++i) {
    // From the end: our own solvers, which take the most problems and are the quickest to ask.
    const SolverList& solvers = side->backend->solvers();
    const bool is_program = AsLibrary(*side->backend) != nullptr;
    for (auto solver = solvers.rbegin(); solver != solvers.rend(); ++solver) {
      if ((*solver)->traits().operator_name != name) continue;
      // A program that compiles answers by a run of its own, which a list has no time for.
      if (is_program && (*solver)->traits().compiles) return Status::Ok();
      Status answer = (*solver)->IsApplicable(problem, side->target);
      if (answer.ok() && is_program) return Status::Ok();  // Checks its own results.
      if (answer.ok() && !(*solver)->traits().last_resort) return CheckVerifiable(problem);
      if (answer.ok()) {
        last_resort = solver->get();
        continue;
      }
      if (!refused) closest = answer.WithContext(Text((*solver)->id()));
      refused = true;
    }
  }
  return last_resort == nullptr ? closest : CheckLeavesAChoice(*last_resort);
}

std::optional<Candidate> DefaultCandidate(const Place& place, const Problem& problem) {
  if (!ProblemData::CheckMemory(problem).ok()) return std::nullopt;
  for (const auto& solver : place.backend->solvers()) {
    if (!solver->IsApplicable(problem, place.target).ok()) continue;
    auto config = solver->DefaultConfig(problem, place.target);
    if (config.ok()) return Candidate{solver->id(), *std::move(config)};
  }
  return std::nullopt;
}

Status CheckTunable(const Place& place, const Problem& problem,
                    const std::optional<Candidate>& usual) {
  ATTUNE_RETURN_IF_ERROR(ProblemData::CheckMemory(problem));
  if (!usual && place.device_spec.empty()) {
    return Unavailable(
        "The session has measured nothing of it that holds, and its device is not here to ask for "
        "a default. 'attune tune --session' measures it where that is.");
  }
  if (!usual) {
    return Unsupported(
        fmt::format("No solver of the backend '{}' computes this problem.", place.backend->name()));
  }
  ATTUNE_RETURN_IF_ERROR(CheckLeavesAChoice(*FindSolver(place.backend->solvers(), usual->solver)));
  return CheckVerifiable(problem);
}

Result<std::string> BaselineNote(RecordStore& store, const Place& place, const Choice& choice) {
  if (choice.provenance == Provenance::kUntuned) return std::string();
  const auto usual = DefaultCandidate(place, choice.problem);
  if (!usual || *usual == choice.default_candidate) return std::string();
  ATTUNE_ASSIGN_OR_RETURN(const Part part, PartOf(store, choice, *usual));
  // Measured without fault, it was no default then: the solvers of the program have changed since.
  if (part.was_timed && !part.failure) return std::string();
  const std::string reason =
      part.failure     ? fmt::format("failed: {} in {}: {}", Name(part.failure->kind),
                                     Name(part.failure->phase), Printable(part.failure->message))
      : part.took_part ? fmt::format("was not timed; to create it took {}.",
                                     FormatTime(static_cast<double>(part.load_ns)))
                       : "took no part";
  return fmt::format("The baseline is {}, because the usual default {} {}",
                     Text(choice.default_candidate), Text(*usual), reason);
}

Result<std::vector<ChosenProblem>> ChooseAll(RecordStore& store, const Place& place,
                                             const ChoiceQuery& choices,
                                             const std::vector<TaggedProblem>& problems) {
  SetsByProblem sets;
  if (!choices.selection.tag.empty()) {
    RecordQuery query;
    query.tag = choices.selection.tag;
    ATTUNE_RETURN_IF_ERROR(LoadSets(store, query, place, choices.cache, sets));
  }
  for (const TaggedProblem& tagged : problems) {
    if (sets.contains(Text(tagged.problem))) continue;
    RecordQuery query;
    query.problem = tagged.problem;
    ATTUNE_RETURN_IF_ERROR(LoadSets(store, query, place, choices.cache, sets));
  }
  Peaks peaks;
  for (const auto& [text, of_problem] : sets) {
    peaks = HighestOf(peaks, HighestPeaks(of_problem, place));
  }
  std::vector<ChosenProblem> chosen;
  for (const TaggedProblem& tagged : problems) {
    ChosenProblem& added = chosen.emplace_back(Choose(place, tagged, sets[Text(tagged.problem)]));
    if (!added.choice) continue;
    ATTUNE_ASSIGN_OR_RETURN(added.baseline_note, BaselineNote(store, place, *added.choice));
    added.choice->roofline_fraction = RooflineFraction(*added.choice, peaks);
    added.roofline_note = RooflineNote(tagged.problem, added.choice->roofline_fraction, peaks);
  }
  return chosen;
}

Result<ChosenList> ChooseSelected(Application& application, const std::string& device,
                                  const ChoiceQuery& choices) {
  ChosenList list;
  ATTUNE_ASSIGN_OR_RETURN(list.where, FindRecordPlace(application, device));
  ATTUNE_ASSIGN_OR_RETURN(list.store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(const auto selected, Resolve(application, choices.selection));
  ATTUNE_ASSIGN_OR_RETURN(list.networks, SelectedNetworks(application, choices.selection));
  ATTUNE_ASSIGN_OR_RETURN(list.problems,
                          ChooseAll(*list.store, list.where.place, choices, selected));
  return list;
}

}  // namespace attune
