// Untuned files tuned on the devices of a kind, with a run time for each of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "attune/base/status.h"
#include "attune/tunable/offline_tuning.h"
#include "runtime/runtime.h"

namespace attune {

// What TunableOp calls mgpu_tune_gemm_in_file.
struct DeviceTuning {
  std::string kind;              // "cuda"
  std::optional<int64_t> count;  // Of its devices, from 0 on; nothing: all.
  std::string pattern;           // Of untuned files.
  std::filesystem::path file;    // The only one; taken if there is no pattern.
};

// As TuneFiles() or TuneFileOn(), on the devices 0 to count-1 of a kind. Results and tuning are
// switched on; apart from its device, each run time is made with `options`. kInvalidArgument for a
// count that is not in 1 to the number of devices, with both; kNotFound for a kind that has none;
// kFailedPrecondition if the environment forbids tuning. Nothing is written then.
Result<OfflineReport> TuneOnDevices(const RuntimeOptions& options, const DeviceTuning& asked);

}  // namespace attune
