// Times of candidates in measurement sets, by device context, as a search takes them.
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
// By solver: the configs tried in each other device context, each config once.
using TimesOfPlaces = std::map<SolverId, std::vector<std::vector<ConfigTime>>>;

// The same of one device context, by candidate.
using CandidateTimes = std::map<Candidate, std::optional<double>>;

// Adds the trials of `recorded` to those of its device context. The last time counts; a final is
// the last in its set.
void AddTrials(const RecordedSet& recorded, CandidateTimes& times);
// Adds `place` after the others.
void AddPlace(const CandidateTimes& place, TimesOfPlaces& times);

}  // namespace attune
