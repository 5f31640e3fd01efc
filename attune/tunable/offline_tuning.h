// Untuned files tuned off line, on one device or spread over several.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/tunable/tunable_context.h"

namespace attune {

// Outcome of the lines of untuned files.
struct OfflineReport {
  int64_t tuned = 0;
  int64_t known = 0;  // Had a result already.
  struct Failed {
    TunableOpKey key;
    Status status;
  };
  std::vector<Failed> failed;  // Also those of failed devices.
  struct Unreadable {
    std::filesystem::path file;
    int64_t line = 0;  // From 1.
    std::string reason;
  };
  std::vector<Unreadable> unreadable;
  int64_t wildcards = 0;  // Lines with dynamic sizes, which name nothing to tune.
  // A device that could not be opened, has no result for its share, or cannot write its results.
  struct FailedDevice {
    std::string device;  // "cuda:1"
    Status status;
    std::vector<TunableOpKey> without_result;  // Problems of its share.
  };
  std::vector<FailedDevice> failed_devices;
  // With the results of all devices, one for each of them.
  std::vector<std::filesystem::path> full_files;
};

// Problems that were not tuned or read and why, a sentence for each, up to a limit of each kind;
// empty if there are none.
std::string Complaints(const OfflineReport& report);
// Ok, or kUnavailable with the complaints if a device failed.
Status StatusOf(const OfflineReport& report);

// Tunes every problem of an untuned file, or of a results file. Afterwards each line that did not
// fail has a result under its own names. kFailedPrecondition unless tuning is switched on.
Result<OfflineReport> TuneFile(const std::filesystem::path& path, TunableContext& context);

// One of the devices that share untuned files.
struct OfflineDevice {
  std::string name;  // "cuda:1"
  int ordinal = 0;
  Result<TunableContext*> context;  // Borrowed; or why the device cannot be opened.
};
OfflineDevice DeviceOf(TunableContext& context);

// The lines of all files that match `pattern`, each once, dealt to the devices in turn and tuned by
// one thread for each of them. Every device writes its own results file; then each, a failed one
// too, gets a file with the results of all, "_full" before its ordinal. A device that fails costs
// its share. Nothing is written if the pattern has no wildcard, matches nothing, or matches a file
// that results go to (kInvalidArgument), if results have no folder that can be written to, if a
// file cannot be read, or if no device can be opened.
Result<OfflineReport> TuneFiles(const std::string& pattern, std::span<const OfflineDevice> devices);

// The same for one file.
Result<OfflineReport> TuneFileOn(const std::filesystem::path& file,
                                 std::span<const OfflineDevice> devices);

// Problems of the lines, dealt in turn; lines of one problem go to one hand.
std::vector<std::vector<UntunedProblem>> Deal(const std::vector<UntunedProblem>& problems,
                                              size_t hands);
// Where the results of all devices go: "r_full0.csv" for "r.csv" and ordinal 0.
std::string FullResultsName(const std::string& filename, int ordinal);

}  // namespace attune
