// The tasks of a worker for the fleet beside its jobs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "attune/base/outage_log.h"
#include "extensions/fleet/workers/publisher.h"
#include "extensions/fleet/workers/reconcile.h"

namespace attune {

struct HousekeepingTerms {
  ReconcileTerms reconcile;  // Its time is unset.
  // The current state of the worker; the housekeeper sets its heartbeat.
  std::function<WorkerState()> state;
  std::function<void(const std::string& line)> say;
  std::shared_ptr<OutageLog> outages;  // WorkerTerms::outages, never null here.
};

// From a thread of its own: refills the channels that this process publishes on, gives back leases
// without a holder, fails the jobs of dead letters, and sends the heartbeat of the worker. Runs 20
// times a second while there is much to publish, else down to once a second. Reports a failure once
// and tries again. Thread-safe.
class Housekeeper {
 public:
  // Borrows `parts`.
  Housekeeper(const FleetParts& parts, HousekeepingTerms terms);
  // Records that the worker has ended, and lets another process publish.
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  // New jobs may be ready to publish.
  void Nudge();

 private:
  // The last time of each task, by the steady clock.
  struct Done {
    int64_t leases_ns = 0;
    int64_t dead_ns = 0;
    int64_t beat_ns = 0;
  };

  void Work();
  // Returns the number of published messages.
  Result<int64_t> Round(Done& done);
  void Note(const Status& status);
  // Reports them if there are more than before.
  void TellUnreadable(const Reconciled& reconciled);

  const FleetParts parts_;
  const HousekeepingTerms terms_;
  Publisher publisher_;
  int64_t unreadable_ = 0;  // Dead letters at the last look.
  std::mutex mutex_;        // Guards everything below.
  std::condition_variable changed_;
  bool is_nudged_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace attune
