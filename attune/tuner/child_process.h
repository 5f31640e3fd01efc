// One child that evaluates candidates: started, asked, watched and, when need be, killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/child_protocol.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// Move-only; the destructor kills the whole process group of the child and reaps it. Used by one
// thread.
class ChildProcess {
 public:
  // Starts the program of `options` with `data_fd` (see ProblemData::fd) and says hello.
  // kUnavailable if it cannot be started or refuses.
  static Result<ChildProcess> Start(const ChildOptions& options, int data_fd,
                                    const std::string& problem_text, const EvaluationTerms& terms);

  // Starts the program and says nothing. `data_fd` is any open file where the child needs no data.
  static Result<ChildProcess> Spawn(const ChildOptions& options, int data_fd);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // Sends `request` and waits for its answer, through as many phases as it has. A child that dies,
  // exceeds the deadline of a phase or the memory limit, or talks nonsense is killed and becomes a
  // Failure: alive() is then false.
  tl::expected<Reply, Failure> Ask(const Request& request);

  bool alive() const { return pid_ > 0; }

  // When phases ran, since the last call.
  std::vector<BusyInterval> TakeBusyIntervals();

 private:
  ChildProcess(const ChildOptions& options, pid_t pid, UniqueFd socket, UniqueFd output);

  tl::expected<Reply, Failure> AwaitAnswer();
  // Waits for something on either descriptor and reads it.
  enum class Arrival { kNothing, kMessage, kClosed };  // What came from the socket.
  Arrival ReadAvailable(int timeout_ms);
  void ReadOutput();
  void NotePhase(const Reply& reply);
  bool ExceedsMemory() const;
  int64_t DeadlineNs(Phase phase) const;
  Failure Bury(FailureKind kind, std::string message);
  // True if the child ends by itself within a second.
  bool AwaitExit();
  // Kills the process group, reaps the child and returns its wait status.
  int Kill();

  ChildOptions options_;
  pid_t pid_ = -1;
  UniqueFd socket_;
  UniqueFd output_;  // Read end of the child's standard output and error.
  std::string received_;
  std::string output_tail_;
  Phase phase_ = Phase::kLoad;
  int64_t phase_begin_ns_ = 0;  // 0 while no phase runs.
  int64_t deadline_ns_ = 0;
  std::vector<BusyInterval> busy_;
};

}  // namespace attune
