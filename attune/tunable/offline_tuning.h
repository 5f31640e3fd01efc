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

// What came of the lines of an untuned file.
struct OfflineReport {
  int64_t tuned = 0;
  int64_t known = 0;  // Had a result already.
  struct Failed {
    TunableOpKey key;
    std::string reason;
  };
  std::vector<Failed> failed;
  std::vector<UnreadableLine> unreadable;
  int64_t wildcards = 0;  // Lines with dynamic sizes, which name nothing to tune.
};

// Tunes every problem of an untuned file, or of a results file. Afterwards each line that did not
// fail has a result under its own names. kFailedPrecondition unless tuning is switched on.
Result<OfflineReport> TuneFile(const std::filesystem::path& path, TunableContext& context);
Result<OfflineReport> TuneList(const UntunedList& list, TunableContext& context);

// The lines of all `files`, each once, dealt to `contexts` in turn and tuned by one thread for each
// context; they are meant to be of different devices. Every context writes its own results file;
// then every one of them gets a file with the results of all, "_full" before its ordinal.
Result<OfflineReport> TuneFiles(std::span<const std::filesystem::path> files,
                                std::span<TunableContext* const> contexts);

// What the files say, each line once, dealt in turn.
std::vector<UntunedList> Deal(const UntunedList& list, size_t hands);
// Where the results of all devices go: "r_full0.csv" for "r.csv" and ordinal 0.
std::string FullResultsName(const TunableContext& context);

}  // namespace attune
