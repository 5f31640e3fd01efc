// A command that runs a program and counts what its processes record: `attune blas --record`.
//
// The processes find it by an id in their environment, which names a pipe in the spool folder.
// What they cannot write to a disk they tell through that pipe, which needs neither room on a disk
// nor a file that may grow.
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
#include "attune/spool/spool_folder.h"
#include "attune/spool/spool_format.h"

namespace attune {

// The variable that names the run to the processes of the program.
inline constexpr const char* kRecordRunVariable = "ATTUNE_RECORD_RUN";

// What the processes of a run recorded.
struct RecordedCount {
  int64_t problems = 0;           // Different ones, under any tag.
  int64_t waiting = 0;            // Of them, those that no database has yet.
  int64_t added = 0;              // Of all, those that were not known before.
  std::vector<SpoolLoss> losses;  // What is in no spool.
};

// The waiting command's side. Not thread-safe. The destructor removes the pipe and what was kept
// for counting.
class RecordingRun {
 public:
  static Result<RecordingRun> Begin(const SpoolPlace& place);
  RecordingRun(RecordingRun&&) = default;
  RecordingRun& operator=(RecordingRun&&) = delete;
  ~RecordingRun();

  const std::string& id() const { return id_; }
  // Everything up to now; `known` are keys of problems (KeyOf()). What was told through the pipe is
  // in the first answer alone.
  RecordedCount Count(const std::set<Fingerprint>& known = {});

 private:
  RecordingRun(std::filesystem::path path, UniqueFd folder, UniqueFd pipe, std::string id)
      : path_(std::move(path)),
        folder_(std::move(folder)),
        pipe_(std::move(pipe)),
        id_(std::move(id)) {}

  void CountFiles(std::string_view suffix, RecordedCount& count);
  std::vector<SpoolLoss> TakeTold();

  std::filesystem::path path_;  // Of the spool folder.
  UniqueFd folder_;
  UniqueFd pipe_;  // To read.
  std::string id_;
  std::set<Fingerprint> counted_;
};

// Whether the command of run `id` still waits for its program.
bool IsRunning(int folder, const std::string& id);

// A recording process's side: tells the command of run `id` what is lost. False if it is gone.
bool TellRun(const SpoolPlace& place, const std::string& id, const SpoolLoss& loss);

// The same with a line of AppendLossLine(), by the path of the spool folder and without memory of
// the heap.
bool TellRunAtOnce(const std::filesystem::path& folder, std::string_view id, std::string_view line);

// Removes what commands that were killed have left in the folder.
void RemoveDeadRuns(int folder);

}  // namespace attune
