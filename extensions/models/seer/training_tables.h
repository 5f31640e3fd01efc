// Turns tables of measurements into training data for SEER's models, and into held-out data.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "extensions/models/seer/kernel_record.h"
#include "extensions/models/seer/operator_models.h"
#include "extensions/models/seer/seer_model.h"

namespace attune::seer {

// Records of one algorithm by variant, distinguished by their blocks. If two variants launch
// equally many, the resident blocks per processor decide. If those are equal as well, the record is
// left out and counted; as published, reading stops at the first such record.
struct VariantRecords {
  std::vector<std::vector<KernelRecord>> by_variant;  // As VariantsOf(), filters of 7 pooled.
  size_t ambiguous = 0;
  size_t unknown = 0;  // No variant launches as many.
};
VariantRecords SplitByVariant(std::span<const KernelRecord> records, int algorithm,
                              int64_t processors, Rules rules);

// Seven of ten records, by their rank in time, for training, and the others. As published, the
// quickest one is in neither.
struct RecordSplit {
  std::vector<KernelRecord> learnt;
  std::vector<KernelRecord> held_out;
};
RecordSplit SplitByTime(std::vector<KernelRecord> records, Rules rules);

using RecordsByVariant = std::map<std::string, std::vector<KernelRecord>, std::less<>>;

// Records of all algorithms, distinguished as in SplitByVariant().
struct SortedRecords {
  RecordsByVariant kernels;              // Algorithms 0, 1, 2, 6 and 7.
  std::vector<KernelRecord> fft;         // Algorithm 4, whole calls.
  std::vector<KernelRecord> fft_tiling;  // Algorithm 5, whole calls.
  size_t ambiguous = 0;                  // Two variants launch as many blocks.
  size_t unknown = 0;                    // No variant does, or the algorithm has no model (3).
};
SortedRecords SortRecords(std::span<const KernelRecord> records, int64_t multiprocessors,
                          Rules rules);

// Seven of ten records of each variant and FFT for training: by their rank in time (SplitByTime),
// but as published those of algorithms 4 to 7 by their place in the table.
struct SortedSplit {
  SortedRecords learnt;
  std::vector<KernelRecord> held_out;
};
SortedSplit HoldOut(const SortedRecords& sorted, Rules rules);

// Includes the times of pre-kernels in `operators`. All records of algorithm 5 train its class, as
// published only those of images 32 wide.
TrainingData TrainingDataOf(const SortedRecords& sorted, std::span<const OperatorTime> operators,
                            Rules rules);

}  // namespace attune::seer
