// What a worker does for the fleet beside its jobs.
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
  ReconcileTerms reconcile;  // Without a moment.
  // What the worker is now; its moment of the beat is set here.
  std::function<WorkerState()> state;
  std::function<void(const std::string& line)> say;
  std::shared_ptr<OutageLog> outages;  // WorkerTerms::outages, here always one.
};

// From a thread of its own: refills the channels that this process publishes on, gives back leases
// that nobody holds, fails the jobs of dead letters, and says that the worker lives. Between 20
// times a second, while there is much to publish, and once a second. What fails is said once and
// tried again. Thread-safe.
class Housekeeper {
 public:
  // Borrows `parts`.
  Housekeeper(const FleetParts& parts, HousekeepingTerms terms);
  // Says that the worker has ended, and lets somebody else publish.
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

  // There may be something new to publish.
  void Nudge();

 private:
  // When each was done last, by the steady clock.
  struct Done {
    int64_t leases_ns = 0;
    int64_t dead_ns = 0;
    int64_t beat_ns = 0;
  };

  void Work();
  // How many messages were published.
  Result<int64_t> Round(Done& done);
  void Note(const Status& status);
  // If there are more of them than before.
  void TellUnreadable(const Reconciled& reconciled);

  const FleetParts parts_;
  const HousekeepingTerms terms_;
  Publisher publisher_;
  int64_t unreadable_ = 0;  // Dead letters, when somebody looked last.
  std::mutex mutex_;        // Guards everything below.
  std::condition_variable changed_;
  bool is_nudged_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace attune
