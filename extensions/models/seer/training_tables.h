// Tables of measurements as what SEER's models are trained with, and what is held out of it.
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

// Records of one algorithm by variant, told apart by their blocks. Where two variants launch
// equally many, the resident blocks per processor decide, and where these do not, either, the
// record is left out and counted; as published, reading stops at the first such one.
struct VariantRecords {
  std::vector<std::vector<KernelRecord>> by_variant;  // As VariantsOf(), filters of 7 pooled.
  size_t ambiguous = 0;
  size_t unknown = 0;  // No variant launches so many.
};
VariantRecords SplitByVariant(std::span<const KernelRecord> records, int algorithm,
                              int64_t processors, Rules rules);

// Seven of ten records, by their rank in time, to learn from, and the others. As published, the
// quickest one is in neither.
struct RecordSplit {
  std::vector<KernelRecord> learnt;
  std::vector<KernelRecord> held_out;
};
RecordSplit SplitByTime(std::vector<KernelRecord> records, Rules rules);

using RecordsByVariant = std::map<std::string, std::vector<KernelRecord>, std::less<>>;

// Records of all algorithms, told apart as SplitByVariant() does.
struct SortedRecords {
  RecordsByVariant kernels;              // Of algorithms 0, 1, 2, 6 and 7.
  std::vector<KernelRecord> fft;         // Of algorithm 4, whole calls.
  std::vector<KernelRecord> fft_tiling;  // Of algorithm 5, whole calls.
  size_t ambiguous = 0;                  // Two variants launch so many blocks.
  size_t unknown = 0;                    // No variant does, or the algorithm has no model (3).
};
SortedRecords SortRecords(std::span<const KernelRecord> records, int64_t multiprocessors,
                          Rules rules);

// Seven of ten records of each variant and FFT to learn from: by their rank in time (SplitByTime),
// and, as published, those of algorithms 4 to 7 by their place in the table instead.
struct SortedSplit {
  SortedRecords learnt;
  std::vector<KernelRecord> held_out;
};
SortedSplit HoldOut(const SortedRecords& sorted, Rules rules);

// With the times of pre-kernels that are among `operators`. The class of algorithm 5 is learnt from
// all of its records, as published from those of images 32 wide alone.
TrainingData TrainingDataOf(const SortedRecords& sorted, std::span<const OperatorTime> operators,
                            Rules rules);

}  // namespace attune::seer
