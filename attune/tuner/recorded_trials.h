// Records for tests about the results of other runs.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/statistics.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"
#include "attune/trial/trial.h"

namespace attune {

// 20 samples of `time_ns` each.
inline Trial TimedTrial(const Candidate& candidate, double time_ns,
                        TrialRole role = TrialRole::kFinal) {
  Trial trial;
  trial.candidate = candidate;
  trial.role = role;
  trial.outcome = MeasurementOf(std::vector<double>(20, time_ns), CacheState::kWarm, 0.99);
  return trial;
}

// A finished set of `trials`.
inline void RecordTrials(RecordStore& store, const Problem& problem, const Target& target,
                         const std::vector<Trial>& trials) {
  MeasurementSet set;
  set.id = NewSetId();
  set.problem = problem;
  set.target = target;
  set.searcher = "local";
  ASSERT_TRUE(store.BeginSet(set).ok());
  ASSERT_TRUE(store.Append(set.id, trials).ok());
  ASSERT_TRUE(store.FinishSet(set.id).ok());
}

}  // namespace attune
