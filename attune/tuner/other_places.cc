#include "attune/tuner/other_places.h"

#include <algorithm>

namespace attune {
Result<TimesOfPlaces> OtherPlaces::Find(RecordStore& store, const Problem& problem) {
  TimesOfPlaces times;
  ATTUNE_RETURN_IF_ERROR(ReadDevices(store, problem, times));
  ATTUNE_RETURN_IF_ERROR(ReadNewSizes(store));
  AddSizes(problem, times);
  return times;
}

Status OtherPlaces::ReadDevices(RecordStore& store, const Problem& problem,
                                TimesOfPlaces& times) const {
  RecordQuery query;
  query.problem = problem;
  query.backend = here_.backend;
  query.with_samples = false;
  std::map<std::string, CandidateTimes> devices;
  ATTUNE_RETURN_IF_ERROR(store.Visit(query, [&](const RecordedSet& recorded) {
    const bool is_here = recorded.set.target == here_;
    if (!is_here) AddTrials(recorded, devices[Text(recorded.set.target)]);
    return Status::Ok();
  }));
  for (const auto& [device, place] : devices) AddPlace(place, times);
  return Status::Ok();
}

Status OtherPlaces::ReadNewSizes(RecordStore& store) {
  ATTUNE_ASSIGN_OR_RETURN(const StoreState state, store.State());
  RecordQuery query;
  query.backend = here_.backend;
  query.roles = {TrialRole::kFinal};
  query.with_samples = false;
  query.after_revision = read_up_to_;
  read_up_to_ = state.last_revision;
  if (state.last_revision - query.after_revision > most_revisions_) return Status::Ok();
  return store.Visit(query, [&](const RecordedSet& recorded) {
    if (recorded.set.target != here_ || recorded.records.empty()) return Status::Ok();
    const Problem& problem = recorded.set.problem;
    const std::string family = FamilyOf(problem);
    if (family.empty()) return Status::Ok();
    std::vector<Size>& sizes = sizes_[family];
    const auto [place, is_new] = places_of_sizes_.try_emplace(KeyOf(problem), sizes.size());
    if (is_new) sizes.push_back({problem, PositionOf(problem), {}});
    AddTrials(recorded, sizes[place->second].times_ns);
    return Status::Ok();
  });
}

void OtherPlaces::AddSizes(const Problem& problem, TimesOfPlaces& times) const {
  const auto family = sizes_.find(FamilyOf(problem));
  if (family == sizes_.end()) return;
  const Position here = PositionOf(problem);
  std::vector<std::pair<double, const Size*>> near;
  for (const Size& size : family->second) {
    const double distance = Distance(here, size.position);
    if (size.problem != problem && distance <= kFarthest) near.emplace_back(distance, &size);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kSizes) near.resize(kSizes);
  for (const auto& [distance, size] : near) AddPlace(size->times_ns, times);
}

}  // namespace attune
