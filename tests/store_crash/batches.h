// The batches that a writer appends and the test expects, both from the same seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record.h"
#include "attune/record/record_store.h"

namespace attune {

inline constexpr size_t kCrashBatchTrials = 16;

MeasurementSet CrashSet(uint64_t set_seed);
std::vector<Trial> CrashBatch(uint64_t set_seed, size_t batch);

// How many batches the store has of `set`. kDataLoss if one is there in part, or if a trial is not
// the one that was written.
Result<size_t> CompleteBatches(RecordStore& store, const MeasurementSet& set);

}  // namespace attune
