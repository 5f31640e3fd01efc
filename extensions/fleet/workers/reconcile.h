// Makes a queue match the database.
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
  JobQueue& queue;        // A DatabaseQueue if there is no other.
  bool publishes = true;  // False for a DatabaseQueue.
};

struct ReconcileTerms {
  std::string owner;  // The process that reconciles.
  int64_t now_unix_ns = 0;
  // True if an owner of leases was a process of this machine that has ended; null if unknown.
  std::function<bool(const std::string& owner)> is_gone;
};

struct Reconciled {
  int64_t sessions = 0;    // Open sessions examined.
  int64_t given_back = 0;  // Jobs with an expired lease or an ended owner.
  int64_t buried = 0;      // Jobs that failed by a dead letter.
  int64_t published = 0;   // Missing messages.
  int64_t unreadable = 0;  // Dead letters without a job: other versions, or no messages.
  std::vector<std::string> unreadable_reasons;  // From the first few letters.

  friend bool operator==(const Reconciled&, const Reconciled&) = default;
};

// For every open session: gives back leases without a holder, fails the jobs of dead letters, and
// publishes jobs that can be leased and have no message. Messages of ended jobs stay: a worker that
// takes one looks at its job first, and drops it. Safe at any time, from any number of processes.
Result<Reconciled> Reconcile(const FleetParts& parts, const ReconcileTerms& terms);

// The parts of Reconcile(), for a process that runs them periodically.
Result<int64_t> GiveBackLostLeases(const FleetParts& parts, const std::vector<Session>& sessions,
                                   const ReconcileTerms& terms);
Status BuryDead(const FleetParts& parts, const std::vector<Session>& sessions, int64_t now_unix_ns,
                Reconciled& reconciled);

}  // namespace attune
