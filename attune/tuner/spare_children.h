// Children that are started before they are needed, so that a candidate waits for a hello and not
// for a program to be loaded.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/child_process.h"

namespace attune {

// Thread-safe, but for WarmUpFor and Supply: the system kills spares with the thread that started
// them, so they are started by one thread that lives as long as this object is used. Ends all that
// are left.
class SpareChildren {
 public:
  // Of which `kept` are left when all that were needed are taken, and before that up to `ahead`
  // more.
  SpareChildren(const ChildOptions& options, size_t kept, size_t ahead);
  ~SpareChildren();

  // From now on spares open the device and load what the default of `problem`, a canonical text,
  // needs before they listen. Who is started because there is no spare does not.
  void WarmUpFor(const std::string& problem) { arguments_ = {options_.device, problem}; }

  // A child that was asked nothing so far: a spare one, or, if there is none, one that is started
  // by the calling thread. One that died is passed over. It need not listen yet.
  Result<ChildProcess> Take();

  // One that has said that it listens and was asked nothing; another one if need be. Who waits may
  // stop (ChildProcess::SetGoOn, which stays set): then the one that comes was given up.
  Result<ChildProcess> TakeListening(const std::function<bool()>& go_on);

  // One that has said that it is ready for `assignment`; another one if need be.
  Result<ChildProcess> TakeReady(const Assignment& assignment);

  // Starts what is missing while `needed` of them are taken,
  // until a stop is requested or none can be started: whoever needs one then is told why. Does not
  // wait until they listen; the last ones are started before the last ones are taken, so that
  // Settle after that rarely waits.
  void Supply(size_t needed, const std::stop_token& stop);

  // Forgets those that have ended, so that they are missing.
  void DropEnded();

  // Waits until every spare sleeps, so that it disturbs nobody who is timed.
  void Settle();

 private:
  Result<ChildProcess> StartAnother() { return ChildProcess::Spawn(options_); }

  const ChildOptions options_;
  const size_t kept_;
  const size_t most_;
  std::vector<std::string> arguments_;  // Of spares.
  std::mutex mutex_;                    // Guards spares_.
  std::condition_variable_any taken_;
  std::deque<ChildProcess> spares_;  // The oldest first.
};

}  // namespace attune
