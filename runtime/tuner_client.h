// Tunes in another process: attune-tuner, started when it is first needed. Nothing is ever forked
// from the caller's process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/dispatch/policy.h"
#include "runtime/tuner_request.h"

namespace attune {

struct TunerClientOptions {
  std::filesystem::path program;
  std::string database;
  std::string device;
  Scope scope = Scope::kAll;
  int64_t per_problem_ms = 2000;
  int64_t budget_ms = 0;  // Of all problems together; 0 for no bound.
  double cpu_share = 1;   // Of one core, on average.
  // What an answer may take beyond ten times per_problem_ms: starting, loading libraries, and
  // whoever has the processor, because a tuner stands behind everybody else.
  int64_t patience_ms = 60'000;
};

// attune-tuner in ../libexec/attune beside the object that contains this code or the program, in
// the same folder in a build tree, or $ATTUNE_TUNER. kNotFound lists what was tried.
Result<std::filesystem::path> FindTunerProgram();

// Thread-safe: one problem at a time. Between problems it holds a socket on a thread with a
// separate descriptor table. The program can neither close the socket nor get its number. If the
// system does not support that, the socket uses a number of the program. If the program then closes
// or replaces it, tuning stops, because the program would do so again.
class TunerClient {
 public:
  explicit TunerClient(TunerClientOptions options);
  // Ends the process; what it has stored stays.
  ~TunerClient();
  TunerClient(const TunerClient&) = delete;
  TunerClient& operator=(const TunerClient&) = delete;

  // Returns when the records of its problem are stored, by this process or by another one that was
  // tuning it. kResourceExhausted once the budget is spent, kUnavailable if the process cannot be
  // started, died or was stopped, kDeadlineExceeded if it did not answer in time and was killed.
  // After each of them the next problem gets a new process.
  Status Tune(const TunerRequest& request);

  // Kills the process and waits at most `patience` for its end. Makes a Tune in progress, and every
  // later one, fail soon.
  void Stop(std::chrono::milliseconds patience);

 private:
  // Runs `work` on the thread that has the socket; false if there is no such thread.
  bool DoThere(const std::function<void()>& work);
  void WorkThere();
  // The functions below run on that thread.
  Status Start();
  // Of a tuner that still rests for `rest_ns`.
  Status Ask(const TunerRequest& request, int64_t rest_ns);
  Status AwaitAnswer(int64_t deadline_ns);
  // kUnavailable once the program has closed or replaced the socket.
  Status CheckSocket();
  void End(std::chrono::milliseconds patience);
  bool ReapStarter();

  const TunerClientOptions options_;
  const pid_t maker_;        // A fork of it lacks thread_.
  std::mutex mutex_;         // Held during Tune; guards the next two.
  int64_t spent_ns_ = 0;     // Without its rests.
  int64_t rest_end_ns_ = 0;  // End of the current rest, steady clock.
  std::atomic<bool> is_stopped_{false};

  std::mutex work_mutex_;  // Guards the next three.
  std::unique_ptr<std::condition_variable> work_changed_ =
      std::make_unique<std::condition_variable>();
  const std::function<void()>* work_ = nullptr;  // Null when done.
  bool is_working_ = false;                      // True while the thread runs.
  std::thread thread_;

  // Used by thread_ alone.
  std::string received_;  // The answer so far.
  bool has_lost_socket_ = false;
  UniqueFd socket_;
  // The process group of the tuner, named after the process that was started. That one ends as soon
  // as the tuner has left it (see apps/attune/tuner_main.cc), and is reaped then.
  int group_ = -1;
  bool is_reaped_ = false;
  // For threads that cannot wait for thread_: group_ while it exists, and when that was last seen.
  std::atomic<int> known_group_{-1};
  std::atomic<int64_t> known_ns_{0};
};

}  // namespace attune
