// Whether this process serves calls with attune, and its run times: the part of a preload library
// that does not depend on which functions it stands in front of.
#pragma once

#include <pthread.h>

#include <atomic>

#include "extensions/interposers/preload/product.h"
#include "extensions/interposers/preload/runtime_library.h"
#include "extensions/interposers/preload/tally.h"

namespace attune::interposer {

// Thread-safe. Starts no thread and keeps no file open before the first call. Entry points have no
// argument for state, so each process has one service. It is constant-initialised, and never
// destroyed because threads may still compute at exit.
class Service {
 public:
  // Begin() calls it last, once in a process. Returns true if the interposer can serve. An
  // interposer that cannot create a run time yet returns true and does nothing.
  using Preparation = bool (*)(Service&);

  // Whether calls are for attune, as far as is known without doing anything.
  bool is_serving() const { return state_.load(std::memory_order_acquire) == State::kServing; }

  // Whether this call is for attune after all, where is_serving() said no. The first call of a
  // process reads the switches here, opens the run time's library and prepares. Notes why not.
  bool Begin(Preparation prepare);

  // True in a forked child of a serving process that records. It serves no calls, but must pass
  // them to Run(), which records them.
  bool records_after_fork() const {
    return state_.load(std::memory_order_acquire) == State::kForked && is_recording_ &&
           library_.record_gemm != nullptr;
  }

  // Whether the calling thread is within the run time, for which the real functions compute.
  static bool is_computing() { return is_computing_; }

  // A run time for what `options` names; `options.policy` holds unless the program records, has a
  // policy in its environment, or is deterministic. Null if that fails, which is said.
  attune_runtime* Create(attune_options options);

  // Says why calls cannot be served. Ends the process if a choice was forced: it must not be
  // replaced in silence.
  static void SayFailure(const char* message);

  // Notes a call that goes to the real function because its thread has too little stack left.
  // Prints this once if a choice is forced or problems are recorded. Never ends the process.
  void NoteShortStack();

  // Computes. False if it has to go to the real function, which `function` names, after all; then
  // nothing of C was written.
  bool Run(attune_runtime* runtime, const char* function, const Product& product);

  // Writes the recorded problems of a process that ends without its exit handlers. Signal handlers
  // can call it.
  void FlushRecords();

  void Note(Outcome outcome) { tally_.Note(outcome); }
  void WatchChildren() { tally_.WatchChildren(); }
  const Tally& tally() const { return tally_; }

 private:
  enum class State { kUntouched, kServing, kOff, kFailed, kLimited, kForked, kClosed };

  State Start(Preparation prepare);
  State StartOnAmpleStack(Preparation prepare);
  State Open(Preparation prepare);
  void SayLimit(const char* why);
  void SayShortStack(bool is_recording);
  void SayLateCall();
  bool OpenLibrary();
  void NoteRefusal(const char* function);
  static void AfterForkInChild();
  // Runs before the libraries of the run time are taken down: late products go to the real
  // functions.
  static void CloseAtExit();

  static constexpr int kMaxRuntimes = 64;

  static constinit thread_local bool is_computing_;

  std::atomic<State> state_ = State::kUntouched;
  std::atomic<bool> watches_forks_ = false;
  std::atomic<bool> is_starting_ = false;
  std::atomic<bool> refusal_was_said_ = false;
  std::atomic<bool> limit_was_said_ = false;
  std::atomic<bool> short_stack_was_said_ = false;
  std::atomic<bool> late_call_was_said_ = false;
  std::atomic<bool> serves_known_only_ = false;
  pthread_mutex_t starting_ = PTHREAD_MUTEX_INITIALIZER;
  bool is_recording_ = false;   // Set before kServing.
  bool limit_was_met_ = false;  // True if a limit kept a run time from being created.
  RuntimeLibrary library_;      // Set before kServing.
  std::atomic<int> runtime_count_ = 0;
  std::atomic<attune_runtime*> runtimes_[kMaxRuntimes] = {};
  Tally tally_;
};

// The one of this process.
extern constinit Service the_service;

}  // namespace attune::interposer
