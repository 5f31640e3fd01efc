// Times candidates of one problem against each other in a process of their own, so that nothing
// that tuning left behind (threads, pages, caches, compiled code) helps any of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"
#include "attune/tuner/evaluator.h"

namespace attune {

struct RacePlan {
  std::string device = "cpu";
  Problem problem;
  std::vector<Candidate> candidates;
  int rounds = 25;  // Each times one block of every candidate, in a random order.
  CacheState cache = CacheState::kWarm;
  EvaluationTerms terms = {};  // With the size of the copies where `cache` is kRotating.
};

// One for each candidate of the plan: nanoseconds of one launch by round, empty if it failed.
using RaceSamples = std::vector<std::vector<double>>;

// Starts the running program again with --race and waits for it.
Result<RaceSamples> RaceInFreshProcess(const RacePlan& plan);

// The main() of that process: if the arguments are those of RaceInFreshProcess, races, prints the
// samples as JSON and returns the exit status; otherwise returns nothing. Call it first in main().
std::optional<int> MaybeServeRace(int argc, char** argv);

}  // namespace attune
