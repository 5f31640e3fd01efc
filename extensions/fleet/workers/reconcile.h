// Brings a queue back to what the database says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/fleet_store.h"
#include "attune/session/job_store.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune {

struct FleetParts {
  FleetStore& fleet;
  JobStore& jobs;
  JobQueue& queue;        // A DatabaseQueue where there is no other...
  bool publishes = true;  // ...to which nothing is published.
};

struct ReconcileTerms {
  std::string owner;  // Of whoever does it.
  int64_t now_unix_ns = 0;
  // Whether an owner of leases was a process of this machine that has ended; null if nobody knows.
  std::function<bool(const std::string& owner)> is_gone;
};

struct Reconciled {
  int64_t sessions = 0;    // Open ones, which were looked at.
  int64_t given_back = 0;  // Jobs whose lease had expired, or whose owner has ended.
  int64_t buried = 0;      // Jobs that failed by a dead letter.
  int64_t published = 0;   // Messages that were not there.
  int64_t unreadable = 0;  // Dead letters that are about no job: other versions, no messages.
  std::vector<std::string> unreadable_reasons;  // Of the first few.

  friend bool operator==(const Reconciled&, const Reconciled&) = default;
};

// Gives back leases that nobody holds any more, fails the jobs of dead letters and publishes what
// can be leased and has no message, for every open session. Messages of jobs that have ended are
// left: whoever takes one looks at its job first, and drops it. May be done at any time, by any
// number of processes.
Result<Reconciled> Reconcile(const FleetParts& parts, const ReconcileTerms& terms);

// Its parts, for whoever does them from time to time.
Result<int64_t> GiveBackLostLeases(const FleetParts& parts, const std::vector<Session>& sessions,
                                   const ReconcileTerms& terms);
Status BuryDead(const FleetParts& parts, const std::vector<Session>& sessions, int64_t now_unix_ns,
                Reconciled& reconciled);

}  // namespace attune
