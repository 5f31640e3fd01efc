// A command that runs a program and counts the problems its processes record: `attune blas
// --record`.
//
// The processes find the command by an ID in their environment, which names a pipe in the spool
// folder. They report losses through that pipe, which needs no disk space and no growing file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/record/spool_folder.h"
#include "attune/record/spool_format.h"

namespace attune {

// The variable that passes the ID of the run to the processes of the program.
inline constexpr const char* kRecordRunVariable = "ATTUNE_RECORD_RUN";

// The problems that the processes of a run recorded.
struct RecordedCount {
  int64_t problems = 0;           // Distinct problems, under any tag.
  int64_t waiting = 0;            // Problems among them that are in no database yet.
  int64_t added = 0;              // Problems among them that were not `known`.
  std::vector<SpoolLoss> losses;  // Problems that no spool has.
};

// For the waiting command. Not thread-safe. The destructor removes the pipe and the imported spools
// kept for counting.
class RecordingRun {
 public:
  static Result<RecordingRun> Begin(const SpoolPlace& place);
  RecordingRun(RecordingRun&&) = default;
  RecordingRun& operator=(RecordingRun&&) = delete;
  ~RecordingRun();

  const std::string& id() const { return id_; }
  // The counts up to now; `known` holds keys of problems (KeyOf()). Only the first call returns the
  // losses from the pipe.
  RecordedCount Count(const std::set<Fingerprint>& known = {});

 private:
  RecordingRun(std::filesystem::path path, UniqueFd folder, UniqueFd pipe, std::string id)
      : path_(std::move(path)),
        folder_(std::move(folder)),
        pipe_(std::move(pipe)),
        id_(std::move(id)) {}

  void CountFiles(std::string_view suffix, RecordedCount& count);
  std::vector<SpoolLoss> TakeTold();

  std::filesystem::path path_;  // Path of the spool folder.
  UniqueFd folder_;
  UniqueFd pipe_;  // Read end.
  std::string id_;
  std::set<Fingerprint> counted_;
};

// True if the command of run `id` still waits for its program.
bool IsRunning(int folder, const std::string& id);

// For a recording process: reports a loss to the command of run `id`. False if the command is gone.
bool TellRun(const SpoolPlace& place, const std::string& id, const SpoolLoss& loss);

// As TellRun(), with a line of AppendLossLine() and the path of the spool folder. Uses no heap
// memory.
bool TellRunAtOnce(const std::filesystem::path& folder, std::string_view id, std::string_view line);

// Removes the files that killed commands left in the folder.
void RemoveDeadRuns(int folder);

}  // namespace attune
