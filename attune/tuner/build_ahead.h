// Compiles candidates in separate worker processes, ahead of the one that runs them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attune/base/status.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"
#include "attune/tuner/child_process.h"
#include "attune/tuner/evaluator.h"
#include "attune/tuner/spare_children.h"

namespace attune {

// The build result of one candidate; the compiled code is in the kernel cache of this user.
struct BuiltAhead {
  Candidate candidate;
  int64_t build_ns = 0;            // Spent in the compiler; 0 if nothing was compiled.
  std::optional<Failure> failure;  // It cannot be compiled.
};

// Worker processes are kept from problem to problem. Used by one thread, which starts them: the
// system kills them with the thread that started them.
class BuildAhead {
 public:
  // Borrows `spares`. At most `jobs` worker processes compile at once.
  BuildAhead(SpareChildren& spares, std::string device, size_t jobs)
      : spares_(spares), device_(std::move(device)), jobs_(jobs) {}
  ~BuildAhead() { End(); }
  BuildAhead(const BuildAhead&) = delete;
  BuildAhead& operator=(const BuildAhead&) = delete;

  // Starts on `problem` (canonical text). REQUIRES: End() was called since the last Begin().
  void Begin(const std::string& problem);

  // Queues `candidate`. If any candidate is not compiled by its `ready_by_ns` (steady clock), all
  // compiling stops.
  void Add(const Candidate& candidate, int64_t ready_by_ns);

  // Returns the next compiled candidate, in any order. Nothing if none is compiled by `deadline_ns`
  // (steady clock) or left() is 0. If no worker process could be started, returns candidates
  // uncompiled.
  std::optional<BuiltAhead> Take(int64_t deadline_ns);

  // Number of candidates that Take() still returns.
  size_t left();

  // Drops the queue and waits for candidates that are being compiled.
  void End();

  // Intervals in which worker processes compiled, up to the last End() and since the last call.
  BusyTime TakeBusyTime();

 private:
  struct Task {
    std::string candidate;  // Text.
    int64_t ready_by_ns = 0;
  };
  struct Worker {
    explicit Worker(ChildProcess started) : child(std::move(started)) {}

    ChildProcess child;
    bool is_employed = false;  // Has a thread. Guarded by mutex_.
  };

  // Gives a thread to an idle worker process, or starts one, unless `jobs_` threads run.
  void EmployAnother();
  void Work(Worker& worker);
  BuiltAhead Build(ChildProcess& child, const Task& task) const;

  SpareChildren& spares_;
  const std::string device_;
  const size_t jobs_;
  std::string problem_;
  std::deque<Worker> workers_;  // Threads hold references to theirs.
  std::vector<std::jthread> threads_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  size_t employed_ = 0;  // Running threads.
  size_t working_ = 0;   // Threads that compile.
  bool is_over_ = true;
  std::deque<BuiltAhead> built_;
  BusyTime busy_;
};

}  // namespace attune
