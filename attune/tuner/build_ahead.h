// Compiles candidates in children that open no device, ahead of the one that runs them.
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

// What became of one candidate: what was compiled lies in the kernel cache of this user.
struct BuiltAhead {
  size_t index = 0;                // Among those that were asked for.
  int64_t build_ns = 0;            // Spent in the compiler; 0 if nothing was compiled.
  std::optional<Failure> failure;  // It cannot be compiled.
};

// Children stay from batch to batch. Used by one thread, which starts them: the system kills
// children with the thread that started them.
class BuildAhead {
 public:
  // Borrows `spares`. At most `jobs` children compile at once.
  BuildAhead(SpareChildren& spares, std::string device, size_t jobs)
      : spares_(spares), device_(std::move(device)), jobs_(jobs) {}
  ~BuildAhead() { End(); }
  BuildAhead(const BuildAhead&) = delete;
  BuildAhead& operator=(const BuildAhead&) = delete;

  // Begins to compile the candidates of `problem` (canonical text), in order, and gives up what is
  // not ready by the moments of `time`. REQUIRES: the batch before was ended.
  void Begin(const std::string& problem, const std::vector<Candidate>& candidates,
             const QualifyTime& time);

  // Waits until another one is done, in whatever order; nothing when all were taken, when the rest
  // was given up, or at `deadline_ns` (steady clock; 0: none). Where no child could be had,
  // candidates are done at once and nothing was compiled.
  std::optional<BuiltAhead> Take(int64_t deadline_ns);

  // Begins no more, and waits for those that are being compiled.
  void End();

  // When children compiled, since the last call.
  BusyTime TakeBusyTime();

 private:
  // Whether there are candidates that nobody has begun.
  bool HasMore();
  void Work(ChildProcess& child);
  BuiltAhead Build(ChildProcess& child, size_t index) const;
  void Finish(BuiltAhead built);
  void GiveUp();

  SpareChildren& spares_;
  const std::string device_;
  const size_t jobs_;
  std::string problem_;
  QualifyTime time_;
  std::vector<std::string> candidates_;  // Texts.
  std::deque<ChildProcess> children_;    // Workers hold references to theirs.
  std::vector<std::jthread> workers_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  size_t next_ = 0;     // Of candidates_, that nobody has begun.
  size_t working_ = 0;  // Children that go on.
  size_t taken_ = 0;
  bool given_up_ = false;  // What is not built now will not be.
  std::deque<BuiltAhead> built_;
  BusyTime busy_;
};

}  // namespace attune
