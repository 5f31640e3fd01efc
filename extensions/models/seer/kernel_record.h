// One launch of one kernel in the form of SEER's data: 18 columns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/seer_layer.h"

namespace attune::seer {

struct KernelRecord {
  Layer layer;
  int algorithm = 0;            // cuDNN's number.
  double time_ms = 0;           // t.
  double instructions = 0;      // I: fp32 instructions of all threads of the launch.
  double read_sectors = 0;      // Dr: 32 bytes each, from DRAM.
  double write_sectors = 0;     // Dw.
  double resident_blocks = 0;   // Bmax: at a time on the whole GPU.
  double blocks = 0;            // B.
  double waves = 0;             // n = ceil(B / Bmax).
  double fp_utilisation = 0;    // Uf, 0 to 10.
  double dram_utilisation = 0;  // Ud, 0 to 10.

  friend bool operator==(const KernelRecord&, const KernelRecord&) = default;
};

// Uf >= 8 is compute-bound, else Ud >= 8 DRAM-bound, else under-utilised.
inline constexpr double kBoundAbove = 8;
KernelClass ClassOf(const KernelRecord& record);

// Comma-separated lines of 18 columns in the order N, C, W, K, P, f, s, p, algorithm, t, I, Dr, Dw,
// Bmax, B, n, Uf, Ud, with or without a line of column names above. The number of waves follows
// from B and Bmax and is not read. kInvalidArgument, with the line, for invalid values: extents
// below 1, an inconsistent output width, a time, B or Bmax that is not above 0, an unknown
// algorithm.
Result<std::vector<KernelRecord>> ReadKernelRecords(std::string_view csv, AlgorithmOrder order);
std::string Csv(std::span<const KernelRecord> records);

// A layer with the time of every algorithm, negative where it is not supported, and the pick of
// cuDNN's heuristic. Lines of N, C, W, K, P, f, s, p, eight times in ms, and the pick (-1: not
// known), or without the pick.
struct AlgorithmTimes {
  Layer layer;
  std::array<double, kAlgorithms> times_ms = {};
  int vendor_pick = -1;

  bool IsSupported(int algorithm) const {
    return algorithm >= 0 && algorithm < kAlgorithms &&
           times_ms[static_cast<size_t>(algorithm)] > 0;
  }
  friend bool operator==(const AlgorithmTimes&, const AlgorithmTimes&) = default;
};
Result<std::vector<AlgorithmTimes>> ReadAlgorithmTimes(std::string_view csv, AlgorithmOrder order);
std::string Csv(std::span<const AlgorithmTimes> times);

// Configurations to measure, in the published format: a line that begins with '#', the number of
// lines, then N C W K P f s p with blanks between them. P is computed, and its value ignored.
Result<std::vector<Layer>> ReadConfigurations(std::string_view text);

}  // namespace attune::seer
