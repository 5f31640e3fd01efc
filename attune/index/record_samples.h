// Training data of models: times out of records.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"
#include "attune/model/launch_source.h"
#include "attune/model/model_file.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"

namespace attune {

// One measured way to compute a problem.
struct TimedCandidate {
  Problem problem;
  std::string algorithm;  // The whole candidate for samples from records.
  double time_ms = 0;
};

// The times in `store` of sets on `target` with the libraries of `origin`: for each problem the
// newest time of each candidate, a final rather than a screen of the same set. Fails as the store
// does.
Result<std::vector<TimedCandidate>> TimedInRecords(RecordStore& store, const Target& target,
                                                   const ModelOrigin& origin);

// Samples of one operator.
struct TimeSamples {
  ModelOrigin origin;
  FeatureSet features;
  std::vector<Sample> samples;
  size_t configurations = 0;
  size_t left_out = 0;  // Rows of other operators, and those that no features express.
};
// With the launch properties in `launches`, if given, for candidates of one kernel, which then
// takes the whole time. Properties that only a device reports are learnt beside the same sample
// without them, since predictions also run where no device is available. If no launch is known, the
// features are of shapes alone. kUnsupported for an operator that has none. The caller sets the
// origin.
Result<TimeSamples> SamplesOf(const std::vector<TimedCandidate>& timed,
                              const std::string& operator_name,
                              const LaunchSource* launches = nullptr);

}  // namespace attune
