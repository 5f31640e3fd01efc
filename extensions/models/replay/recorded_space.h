// A search space with a recorded trial of every config, on which searchers are replayed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/space/config_space.h"

namespace attune {

// The recorded result and cost of trying one config.
struct RecordedTrial {
  std::optional<double> time_ms;  // Kernel time; nothing if the config failed.
  double compile_ms = 0;
  double verification_ms = 0;
  double benchmark_ms = 0;
  double framework_ms = 0;

  // The cost charged to a searcher, whether or not the config failed.
  double charged_ms() const { return compile_ms + verification_ms + benchmark_ms + framework_ms; }

  friend bool operator==(const RecordedTrial&, const RecordedTrial&) = default;
};

struct RecordedSpace {
  ConfigSpace space;                  // In the order of the file.
  std::vector<RecordedTrial> trials;  // By index in `space`.
};

// Reads comma-separated lines. The first names the columns: the parameters, then `status`,
// `time_ms`, `compile_ms`, `verification_ms`, `benchmark_ms` and `framework_ms`. A status other
// than `ok` is a failure, and its time may be empty; so may unrecorded times, which count as 0.
// kInvalidArgument says which line is wrong and why, or that no config worked.
Result<RecordedSpace> ReadRecordedSpace(std::string_view csv);

}  // namespace attune
