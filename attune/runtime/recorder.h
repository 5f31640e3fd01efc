// Where a run time under the policy "record" puts its problems, and what it says if it cannot.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
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
  Status Refuse();

  const RecorderOptions options_;
  const Status cannot_record_;
  std::unique_ptr<SpoolWriter> writer_;  // Null if nothing can be recorded.
  mutable std::mutex mutex_;             // Guards the rest.
  bool has_recorded_ = false;
  bool has_refused_ = false;
};

}  // namespace attune
