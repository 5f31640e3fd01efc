// The one run time of the process behind all entry points, and the rules of when it serves.
#pragma once

#include <pthread.h>

#include <atomic>

#include "faces/blas/product.h"
#include "faces/blas/real_symbol.h"
#include "faces/blas/runtime_library.h"
#include "faces/blas/tally.h"

namespace attune::blas {

// Thread-safe. Nothing happens before the first call: no constructor runs, no file is opened. The
// entry points have C names and no argument to pass state in, so there is one of these for the
// process, constant-initialised and never destroyed, because threads may still compute at exit.
class Face {
 public:
  // Whether a call of `symbol` from `caller` is for attune at all.
  bool Wants(RealSymbol& symbol, const void* caller) {
    if (state_.load(std::memory_order_acquire) != State::kServing && !Begin(symbol, caller)) {
      return false;
    }
    if (!is_computing_ && !symbol.IsOwnCall(caller)) return true;
    tally_.Note(Outcome::kReentrant);
    return false;
  }

  // Computes the product. False if it has to go to the real BLAS after all; then nothing of C was
  // written.
  bool Serve(RealSymbol& symbol, Verdict verdict, const Product& product);

  const Tally& tally() const { return tally_; }

 private:
  enum class State { kUntouched, kServing, kOff, kFailed, kForked, kClosed };

  // The slow beginning of Wants(): reads the switches and creates the run time, once.
  bool Begin(RealSymbol& symbol, const void* caller);
  State Start();
  bool CreateRuntime();
  // Ends the process if a choice was forced: it must not be replaced in silence.
  void Fail(const char* message);
  void NoteRefusal(const RealSymbol& symbol);
  static void AfterForkInChild();
  // Runs before the libraries of the run time are taken down: late products go to the real BLAS,
  // and recorded problems reach the database, for at most a few seconds.
  static void CloseAtExit();
  // Whether all are in the database; last_message of the library says why not.
  bool AwaitRecords();
  void CloseOnceRecorded();

  static constinit thread_local bool is_computing_;

  std::atomic<State> state_ = State::kUntouched;
  std::atomic<bool> watches_forks_ = false;
  std::atomic<bool> is_starting_ = false;
  std::atomic<bool> refusal_was_said_ = false;
  std::atomic<bool> has_recorded_ = false;
  pthread_mutex_t starting_ = PTHREAD_MUTEX_INITIALIZER;
  bool is_recording_ = false;          // Set before kServing.
  RuntimeLibrary library_;             // Set before kServing.
  attune_runtime* runtime_ = nullptr;  // Set before kServing.
  Tally tally_;
};

// The one of this process.
Face& TheFace();

}  // namespace attune::blas
