#include "attune/tuner/prior_records.h"

#include <algorithm>
#include <set>
#include <utility>

#include "attune/index/neighbour.h"
#include "attune/problem/own_kernel.h"
#include "attune/problem/size_distance.h"

namespace attune {
namespace {

// Equal for similar problems.
std::string KindOf(const Problem& problem) {
  if (IsOwnKernel(problem)) {
    const auto own = OwnKernelOf(problem);
    return own.ok() ? "kernel " + own->name : Text(problem);
  }
  const std::string family = FamilyOf(problem);
  return family.empty() ? Text(problem) : family;
}

// Distance of similar problems.
double DistanceOf(const Problem& a, const Problem& b) {
  if (!IsOwnKernel(a)) return Distance(PositionOf(a), PositionOf(b));
  const auto own_a = OwnKernelOf(a);
  const auto own_b = OwnKernelOf(b);
  return own_a.ok() && own_b.ok() ? SizeDistance(own_a->sizes, own_b->sizes) : 0;
}

bool HasConfigIn(const std::vector<std::vector<ConfigTime>>& places, const ConfigSpace& space) {
  for (const auto& place : places) {
    for (const ConfigTime& tried : place) {
      if (space.IndexOf(tried.config).has_value()) return true;
    }
  }
  return false;
}

}  // namespace

Result<PriorRecords> PriorRecords::Read(RecordStore& store, const std::string& backend,
                                        std::span<const TaggedProblem> problems) {
  std::set<std::string> kinds;
  std::set<std::string> wanted;
  for (const TaggedProblem& tagged : problems) {
    kinds.insert(KindOf(tagged.problem));
    wanted.insert(Text(tagged.problem));
  }
  RecordQuery query;
  query.backend = backend;
  query.with_samples = false;
  PriorRecords prior;
  std::map<std::pair<std::string, std::string>, size_t> known;  // By problem and target.
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) {
    const Problem& problem = recorded.set.problem;
    const std::string kind = KindOf(problem);
    if (!kinds.contains(kind)) return Status::Ok();
    const std::string text = Text(problem);
    std::vector<Place>& places = prior.places_[kind];
    const auto [place, is_new] =
        known.try_emplace({text, Text(recorded.set.target)}, places.size());
    if (is_new) places.push_back({problem, {}});
    if (wanted.contains(text)) {
      AddTrials(recorded, places[place->second].times);
      return Status::Ok();
    }
    RecordedSet finals = recorded;
    std::erase_if(finals.records,
                  [](const Record& record) { return record.trial.role != TrialRole::kFinal; });
    AddTrials(finals, places[place->second].times);
    return Status::Ok();
  }));
  return prior;
}

PriorRecords PriorRecords::Of(const Problem& problem, CandidateTimes times) {
  PriorRecords prior;
  prior.places_[KindOf(problem)].push_back({problem, std::move(times)});
  return prior;
}

TimesOfPlaces PriorRecords::Find(const Problem& problem) const {
  TimesOfPlaces times;
  const auto found = places_.find(KindOf(problem));
  if (found == places_.end()) return times;
  std::vector<std::pair<double, const Place*>> near;
  for (const Place& place : found->second) {
    if (!place.times.empty()) near.emplace_back(DistanceOf(problem, place.problem), &place);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kPlaces) near.resize(kPlaces);
  for (const auto& [distance, place] : near) AddPlace(place->times, times);
  return times;
}

bool HasConfigOf(const PriorRecords& prior, const Problem& problem, const SolverList& solvers,
                 const Target& target) {
  const TimesOfPlaces times = prior.Find(problem);
  for (const auto& solver : solvers) {
    const auto found = times.find(solver->id());
    if (found == times.end() || !solver->IsApplicable(problem, target).ok()) continue;
    const auto space = solver->Space(problem, target);
    if (space.ok() && HasConfigIn(found->second, *space)) return true;
  }
  return false;
}

}  // namespace attune
