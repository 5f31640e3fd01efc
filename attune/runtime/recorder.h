// Where a run time under the policy "record" puts its problems, and what it says if it cannot.
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
#include "attune/spool/spool_writer.h"

namespace attune {

struct RecorderOptions {
  std::string database;  // Path; empty for none, with which nothing is recorded.
  std::string tag;
  std::string run;  // RecordingRun::id() of the command that counts the problems; or empty.
  // Takes what the user has to hear.
  std::function<void(const std::string& sentence)> complain;
  // The same with a whole line, which has room for its end, in a process that ends inside of any
  // function: it allocates no memory.
  std::function<void(std::string& line)> complain_at_once;
};

// Thread-safe.
class Recorder {
 public:
  explicit Recorder(RecorderOptions options);

  // Whether the problem is new in this process. A failure says why it is lost.
  Result<bool> Record(const Problem& problem);
  // Writes what waits. Why a problem is not in the spool; ok if all are.
  Status Flush();
  // SpoolWriter's.
  bool Close(std::chrono::milliseconds timeout);
  void FlushAtOnce();

  // Where recorded problems are, and what keeps them from there.
  std::vector<std::string> notes() const;

 private:
  // Why nothing can be recorded; ok if it can.
  Status Check() const;
  void Tell(SpoolTrouble trouble, const SpoolLoss& loss) const;
  void TellAtOnce(int64_t count, std::string_view reason);
  Status Refuse();

  const RecorderOptions options_;
  const Status cannot_record_;
  std::filesystem::path folder_;         // Of the spool of the user that this began as.
  std::string last_line_;                // Of TellAtOnce(); its room is made at the start.
  std::unique_ptr<SpoolWriter> writer_;  // Null if nothing can be recorded.
  mutable std::mutex mutex_;             // Guards the rest.
  bool has_recorded_ = false;
  bool has_refused_ = false;
};

}  // namespace attune
