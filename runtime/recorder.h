// The destination of problems under the policy "record", and the messages if recording fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/record/spool_writer.h"

namespace attune {

struct RecorderOptions {
  std::string database;  // Path; without one (empty) nothing is recorded.
  std::string tag;
  std::string run;  // RecordingRun::id() of the command that counts the problems; or empty.
  // Receives messages for the user.
  std::function<void(const std::string& sentence)> complain;
  // As `complain`, for a process that may end inside any function. It allocates no memory. `line`
  // is a whole line, with capacity for a newline.
  std::function<void(std::string& line)> complain_at_once;
};

// Thread-safe.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options);

  // Returns true if the problem is new in this process. A failure says why it is lost.
  Result<bool> Record(const Problem& problem);
  // Writes waiting problems. Ok if all problems are in the spool; else says why one is not.
  Status Flush();
  // As in SpoolWriter.
  bool Close(std::chrono::milliseconds timeout);
  void FlushAtOnce();

  // The folder of recorded problems, and errors that keep problems from it.
  std::vector<std::string> notes() const;

 private:
  // Ok if problems can be recorded; else the reason.
  Status Check() const;
  void Tell(SpoolTrouble trouble, const SpoolLoss& loss) const;
  void TellAtOnce(int64_t count, std::string_view reason);
  Status Refuse();

  const RecorderOptions options_;
  const Status cannot_record_;
  std::filesystem::path folder_;         // Spool of the initial effective user.
  std::string last_line_;                // For TellAtOnce(); reserved at the start.
  std::unique_ptr<SpoolWriter> writer_;  // Null if nothing can be recorded.
  mutable std::mutex mutex_;             // Guards the rest.
  bool has_recorded_ = false;
  bool has_refused_ = false;
};

}  // namespace attune
