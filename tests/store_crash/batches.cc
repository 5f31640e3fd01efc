#include "tests/store_crash/batches.h"

#include <fmt/format.h>

#include "tests/conformance/store/sample_records.h"

namespace attune {
namespace {

Status CheckBatches(const RecordedSet& recorded, uint64_t set_seed) {
  const std::vector<Trial> trials = TrialsOf(recorded);
  if (trials.size() % kCrashBatchTrials != 0) {
    return DataLoss(fmt::format("{} trials are no whole number of batches.", trials.size()));
  }
  for (size_t batch = 0; batch < trials.size() / kCrashBatchTrials; ++batch) {
    const auto begin = trials.begin() + static_cast<ptrdiff_t>(batch * kCrashBatchTrials);
    if (std::vector<Trial>(begin, begin + kCrashBatchTrials) != CrashBatch(set_seed, batch)) {
      return DataLoss(fmt::format("Batch {} is not what was written.", batch));
    }
  }
  return Status::Ok();
}

}  // namespace

MeasurementSet CrashSet(uint64_t set_seed) {
  Random random(set_seed);
  MeasurementSet set = SampleSet(1, static_cast<int64_t>(set_seed), random);
  set.seed = set_seed;
  return set;
}

std::vector<Trial> CrashBatch(uint64_t set_seed, size_t batch) {
  Random random(set_seed * 1'000'003 + batch);
  return SampleTrials(kCrashBatchTrials, random);
}

Result<size_t> CompleteBatches(RecordStore& store, const MeasurementSet& set) {
  size_t batches = 0;
  const Status status = store.Visit({}, [&](const RecordedSet& recorded) -> Status {
    if (recorded.set.id != set.id) return Status::Ok();
    if (recorded.set != set) return DataLoss("The set is not what was written.");
    batches = recorded.records.size() / kCrashBatchTrials;
    return CheckBatches(recorded, set.seed);
  });
  if (!status.ok()) return status;
  return batches;
}

}  // namespace attune
