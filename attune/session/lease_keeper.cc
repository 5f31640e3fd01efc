#include "attune/session/lease_keeper.h"

#include <chrono>
#include <utility>

namespace attune {

LeaseKeeper::LeaseKeeper(JobStore& jobs, int64_t lease_ns)
    : jobs_(jobs), lease_ns_(lease_ns), thread_([this] { Work(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LeaseKeeper::Hold(std::vector<JobClaim> claims) {
  const std::lock_guard lock(mutex_);
  claims_ = std::move(claims);
}

Status LeaseKeeper::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

void LeaseKeeper::Work() {
  constexpr int kRenewals = 3;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::nanoseconds(lease_ns_ / kRenewals),
                            [&] { return is_ending_; })) {
    if (claims_.empty()) continue;
    const std::vector<JobClaim> claims = claims_;
    lock.unlock();
    // Those that ended meanwhile are no longer held, and renewing them changes nothing.
    const Result<int64_t> now = jobs_.NowUnixNs();
    Status renewed = now.ok() ? jobs_.Renew(claims, *now + lease_ns_).status() : now.status();
    lock.lock();
    status_ = std::move(renewed);
  }
}

}  // namespace attune
