// A search space of which every config was tried and recorded: what a searcher is replayed on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"

namespace attune {

// What trying one config gave and took.
struct RecordedTrial {
  std::optional<double> time_ms;  // Of the kernel; nothing if the config failed.
  double compile_ms = 0;
  double verification_ms = 0;
  double benchmark_ms = 0;
  double framework_ms = 0;

  // What a searcher is charged for it, whether or not it failed.
  double charged_ms() const { return compile_ms + verification_ms + benchmark_ms + framework_ms; }

  friend bool operator==(const RecordedTrial&, const RecordedTrial&) = default;
};

struct RecordedSpace {
  ConfigSpace space;                  // In the order of the file.
  std::vector<RecordedTrial> trials;  // By index in `space`.
};

// Reads comma-separated lines. The first names the columns: the parameters, then `status`,
// `time_ms`, `compile_ms`, `verification_ms`, `benchmark_ms` and `framework_ms`. A status other
// than `ok` is a failure, whose time may be empty; so may times that nobody recorded, which count
// as 0. kInvalidArgument says which line is wrong and why, or that no config worked.
Result<RecordedSpace> ReadRecordedSpace(std::string_view csv);

}  // namespace attune
