// Reads the CSV of NVIDIA's profilers about kernel launches: nvprof --csv and ncu --csv.
// docs/formats/seer.md lists the layouts and the metrics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune::seer {

// One launch, or the average of several launches of one kernel. Values that a profiler does not
// report are nothing.
struct ProfiledLaunch {
  std::string kernel;
  int64_t launches = 1;
  std::optional<std::array<int64_t, 3>> grid;
  std::optional<std::array<int64_t, 3>> block;
  std::optional<int64_t> registers;     // Per thread.
  std::optional<int64_t> shared_bytes;  // Per block, static and dynamic.
  std::optional<double> time_ms;
  std::optional<double> instructions;    // fp32 instructions of all threads.
  std::optional<double> read_sectors;    // 32 bytes each, from DRAM.
  std::optional<double> write_sectors;   // To DRAM.
  std::optional<double> fp_utilisation;  // 0 to 10.
  std::optional<double> dram_utilisation;

  friend bool operator==(const ProfiledLaunch&, const ProfiledLaunch&) = default;
};

// The launches of a text in its order, without copies and fills of memory. kInvalidArgument begins
// with line and column for a damaged row, and reports a text without a profiler's table.
Result<std::vector<ProfiledLaunch>> ReadProfilerCsv(std::string_view text);

// Merges several outputs about the same launches: each metric from the first that has it.
// kInvalidArgument if they are not of the same kernels in the same order.
Result<std::vector<ProfiledLaunch>> MergeLaunches(
    std::span<const std::vector<ProfiledLaunch>> outputs);

// A table with a line that names its columns; unknown values are empty.
std::string Csv(std::span<const ProfiledLaunch> launches);

}  // namespace attune::seer
