#include "attune/dispatch/tuning_claims.h"

namespace attune {

bool TuningClaims::Claim(const Fingerprint& problem) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ClaimLocked(problem);
}

bool TuningClaims::ClaimOrAwait(const Fingerprint& problem) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ClaimLocked(problem)) return true;
  changed_.wait(lock, [&] {
    const auto found = is_finished_.find(problem);
    return found == is_finished_.end() || found->second;
  });
  return false;
}

bool TuningClaims::ClaimLocked(const Fingerprint& problem) {
  // A stream of new shapes must not grow it for ever.
  if (is_finished_.size() > limit_) {
    std::erase_if(is_finished_, [](const auto& claim) { return claim.second; });
  }
  return is_finished_.emplace(problem, false).second;
}

void TuningClaims::Finish(const Fingerprint& problem) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_finished_[problem] = true;
  }
  changed_.notify_all();
}

void TuningClaims::GiveUp(const Fingerprint& problem) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_finished_.erase(problem);
  }
  changed_.notify_all();
}

}  // namespace attune
