// Keeps leases alive for as long as their jobs are worked on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job_store.h"

namespace attune {

// Renews from a thread of its own, so that a long measurement loses nothing and a process that is
// killed loses its leases within `lease_ns`. Thread-safe.
class LeaseKeeper {
 public:
  // Borrows `jobs`. Renews three times in each `lease_ns`.
  LeaseKeeper(JobStore& jobs, int64_t lease_ns);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // The leases to hold from now on, in place of the previous ones.
  void Hold(std::vector<JobClaim> claims);
  // Why the last renewal failed, or ok.
  Status status();

 private:
  void Work();

  JobStore& jobs_;
  const int64_t lease_ns_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::vector<JobClaim> claims_;
  Status status_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace attune
