// Who tunes what: each problem is tuned once.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>

#include "attune/base/fingerprint.h"

namespace attune {

// Thread-safe.
class TuningClaims {
 public:
  // Remembers about `limit` problems that were finished; who comes again after that tunes again.
  explicit TuningClaims(size_t limit) : limit_(limit) {}

  // True for the first caller of each problem, who has to call Finish or GiveUp.
  bool Claim(const Fingerprint& problem);
  // The same; who is not the first waits until the first has finished.
  bool ClaimOrAwait(const Fingerprint& problem);

  // It was tuned, well or not.
  void Finish(const Fingerprint& problem);
  // It was not tuned: the next caller is the first again.
  void GiveUp(const Fingerprint& problem);

 private:
  bool ClaimLocked(const Fingerprint& problem);

  const size_t limit_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::map<Fingerprint, bool> is_finished_;
};

}  // namespace attune
