// What measurement sets say of candidates, place by place, as a search takes it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "attune/record/record.h"
#include "attune/space/config.h"
#include "attune/trial/candidate.h"

namespace attune {

// A config and its median; nothing if it failed.
struct ConfigTime {
  Config config;
  std::optional<double> time_ns;
};
// By solver: for each other place what was tried there, each config once.
using TimesOfPlaces = std::map<SolverId, std::vector<std::vector<ConfigTime>>>;

// The same of one place, by candidate.
using CandidateTimes = std::map<Candidate, std::optional<double>>;

// Adds the trials of `recorded` to those of its place. What was timed last counts, and a final is
// what is timed last in its set.
void AddTrials(const RecordedSet& recorded, CandidateTimes& times);
// Adds `place` behind the others.
void AddPlace(const CandidateTimes& place, TimesOfPlaces& times);

}  // namespace attune
