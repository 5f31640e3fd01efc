#include "attune/tuner/candidate_times.h"

#include <utility>

#include "attune/tuner/pruning.h"

namespace attune {

void AddTrials(const RecordedSet& recorded, CandidateTimes& times) {
  for (const Record& record : recorded.records) {
    const Trial& trial = record.trial;
    if (const Measurement* measurement = trial.measurement()) {
      times[trial.candidate] = measurement->median_ns;
    } else if (trial.failure() != nullptr && !WasLeftOut(trial)) {
      times[trial.candidate] = std::nullopt;
    }
  }
}

void AddPlace(const CandidateTimes& place, TimesOfPlaces& times) {
  std::map<SolverId, std::vector<ConfigTime>> by_solver;
  for (const auto& [candidate, time_ns] : place) {
    by_solver[candidate.solver].push_back({candidate.config, time_ns});
  }
  for (auto& [solver, configs] : by_solver) times[solver].push_back(std::move(configs));
}

}  // namespace attune
