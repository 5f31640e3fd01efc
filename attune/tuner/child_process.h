// One child that evaluates candidates: started, asked, watched and, when need be, killed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/child_protocol.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// What one child works on.
struct Assignment {
  std::string problem;  // Canonical text.
  int data_fd = -1;     // See ProblemData::fd.
  EvaluationTerms terms;
  int64_t memory_limit_bytes = 0;  // As that of ChildOptions.
};

// A child that was killed and may not be gone yet. Move-only; the destructor waits for its end.
class DyingChild {
 public:
  explicit DyingChild(pid_t pid) : pid_(pid) {}
  DyingChild(DyingChild&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  DyingChild& operator=(DyingChild&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~DyingChild() { AwaitEnd(); }

  // Its wait status; 0 if that was asked for before.
  int AwaitEnd();

 private:
  pid_t pid_ = -1;
};

// Children that were killed while nobody had to wait for their end. Until it has come they hold
// memory, also of the device, and the system takes back what they had beside whatever else runs: it
// is waited for before anything is run that is timed. Ends with all of them. Not thread-safe.
class DyingChildren {
 public:
  void Add(DyingChild child) { children_.push_back(std::move(child)); }
  void AwaitAll() { children_.clear(); }

 private:
  std::vector<DyingChild> children_;
};

// Move-only; the destructor kills the whole process group of the child and reaps it. Used by one
// thread at a time. The system kills the child when the thread that started it ends.
class ChildProcess {
 public:
  // Starts the program of `options` with `arguments` (see ServeEvaluations) and says nothing; does
  // not wait until it listens. kUnavailable if it cannot be started.
  static Result<ChildProcess> Spawn(const ChildOptions& options,
                                    const std::vector<std::string>& arguments = {});

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // Waits until the child sleeps in wait for its first request. False if it does not come to that:
  // it is killed then.
  bool AwaitListening();

  // Says hello: the first thing a child is asked that runs candidates. kUnavailable if it died
  // before, or refuses.
  Status Greet(const Assignment& assignment);

  // Asks for the reference of `problem` (canonical text) in the memory file `data_fd`, before or
  // instead of a hello. Whatever the answer is, the child writes to the file no more.
  tl::expected<Reply, Failure> AskForReference(const std::string& problem, int data_fd);

  // Asked several times a second while an answer is awaited, from now on; null: nobody is. The
  // child is killed when it says no, and was_given_up().
  void SetGoOn(std::function<bool()> go_on) { go_on_ = std::move(go_on); }

  // `await_turn` is called before a candidate is timed, and timing starts when it returns. From now
  // on every request must be a QualifyRequest with awaits_turn.
  void SetAwaitTurn(std::function<void()> await_turn) { await_turn_ = std::move(await_turn); }

  // Stops and continues the child (SIGSTOP, SIGCONT), if the system has pidfds. Its deadlines do
  // not advance while it is stopped. Another thread may wait for an answer meanwhile.
  void Pause();
  void Resume();

  // What it is asked from now on may run for so long, instead of the deadline of the options.
  void SetRunDeadline(int64_t run_deadline_ns) { options_.run_deadline_ns = run_deadline_ns; }

  // What it builds or loads from now on has to be ready by `end_ns` (steady clock): it is killed
  // then.
  void SetReadyBy(int64_t end_ns) { ready_by_ns_ = end_ns; }
  // It was killed for that, or as asked: the failure is not of whoever was asked.
  bool was_given_up() const { return was_given_up_; }

  // Sends `request` and waits for its answer, through as many phases as it has. A child that dies,
  // exceeds the deadline of a phase or the memory limit, or talks nonsense is killed and becomes a
  // Failure: alive() is then false.
  tl::expected<Reply, Failure> Ask(const Request& request);

  bool alive() const { return pid_ > 0; }
  // It is there no more, by its own doing.
  bool HasEnded() const;
  // Kills the whole process group and does not wait. alive() is then false.
  DyingChild End();

  // The most memory that it had resident at any moment so far; 0 if the system does not say.
  int64_t PeakResidentBytes() const;

  // When phases ran, and what of it the device worked, since the last call.
  BusyTime TakeBusyTime();

 private:
  // How long the child was stopped.
  struct Pauses {
    UniqueFd handle;                     // Of pidfd_open; none if the system has no pidfds.
    std::atomic<int64_t> paused_ns = 0;  // Sum of all ended pauses.
    std::atomic<int64_t> begin_ns = 0;   // Start of the current pause; 0 if there is none.
    int process = 0;                     // Id of the child.
    std::mutex mutex;                    // Guards `ended`.
    std::vector<BusyInterval> ended;     // Since the last TakeBusyTime().
  };

  ChildProcess(const ChildOptions& options, pid_t pid, UniqueFd socket, UniqueFd output);
  // Steady clock without the time for which the child was stopped.
  int64_t NowNs() const;

  // With `passed_fd`, see WriteFrame.
  tl::expected<Reply, Failure> Ask(const Request& request, int passed_fd);
  tl::expected<Reply, Failure> AwaitAnswer();
  // Waits for the turn of the candidate if `reply` asks for one, and grants it.
  std::optional<Failure> GiveTurnIfAsked(const Reply& reply);
  // The next message, of any kind.
  tl::expected<Reply, Failure> AwaitMessage();
  // Waits for something on either descriptor and reads it.
  enum class Arrival { kNothing, kMessage, kClosed };  // What came from the socket.
  Arrival ReadAvailable(int timeout_ms);
  void ReadOutput();
  void NotePhase(const Reply& reply);
  // Ends the phase that runs, if one does.
  void EndPhase(int64_t now_ns);
  BusyInterval IntervalOf(TuningStep step, int64_t begin_ns, int64_t end_ns) const;
  void NoteDeviceTime(const Reply& reply);
  // Nothing while it keeps to its memory limit.
  std::optional<Failure> BuryIfTooLarge();
  // Nothing while there is time.
  std::optional<Failure> BuryIfTooLate();
  // Nothing unless somebody says stop.
  std::optional<Failure> BuryIfStopped();
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
  bool is_listening_ = false;
  Phase phase_ = Phase::kLoad;
  int64_t phase_begin_ns_ = 0;  // 0 while no phase runs.
  int64_t deadline_ns_ = 0;
  int64_t ready_by_ns_ = std::numeric_limits<int64_t>::max();
  bool was_given_up_ = false;
  std::function<bool()> go_on_;
  std::function<void()> await_turn_;
  std::unique_ptr<Pauses> pauses_;  // On the heap, so that moving does not change its address.
  int64_t heard_at_ns_ = 0;         // When it was asked, or said anything, last.
  int64_t spawned_ns_ = 0;
  std::string candidate_;            // Text of the candidate of the last request.
  std::vector<std::string> loaded_;  // Texts of the candidates that TimeRequest numbers.
  BusyTime busy_;
};

}  // namespace attune
