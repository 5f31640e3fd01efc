// What NVIDIA's profilers print as CSV about the launches of kernels: nvprof --csv and ncu --csv,
// of which docs/formats/seer.md lists the layouts and the figures.
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

// One launch, or the average of several launches of one kernel. What a profiler does not tell is
// nothing.
struct ProfiledLaunch {
  std::string kernel;
  int64_t launches = 1;
  std::optional<std::array<int64_t, 3>> grid;
  std::optional<std::array<int64_t, 3>> block;
  std::optional<int64_t> registers;     // Of a thread.
  std::optional<int64_t> shared_bytes;  // Of a block, static and dynamic.
  std::optional<double> time_ms;
  std::optional<double> instructions;    // fp32 instructions of all threads.
  std::optional<double> read_sectors;    // Of 32 bytes, from DRAM.
  std::optional<double> write_sectors;   // To DRAM.
  std::optional<double> fp_utilisation;  // 0 to 10.
  std::optional<double> dram_utilisation;

  friend bool operator==(const ProfiledLaunch&, const ProfiledLaunch&) = default;
};

// The launches of a text in its order, without copies and fills of memory. kInvalidArgument begins
// with line and column for a damaged row, and says so where there is no table of a profiler.
Result<std::vector<ProfiledLaunch>> ReadProfilerCsv(std::string_view text);

// Several outputs about the same launches as one: each figure from the first that has it.
// kInvalidArgument if they are not of the same kernels in the same order.
Result<std::vector<ProfiledLaunch>> MergeLaunches(
    std::span<const std::vector<ProfiledLaunch>> outputs);

// A table with a line that names its columns; what is not known is empty.
std::string Csv(std::span<const ProfiledLaunch> launches);

}  // namespace attune::seer
