// Takes jobs from the queue of a fleet, does them and reports the results.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/outage_log.h"
#include "attune/base/status.h"
#include "attune/session/lease_keeper.h"
#include "extensions/fleet/workers/delivery_keeper.h"
#include "extensions/fleet/workers/housekeeper.h"
#include "extensions/fleet/workers/job_doer.h"
#include "extensions/fleet/workers/reconcile.h"

namespace attune {

struct WorkerTerms {
  WorkerState who;                                   // The initial state.
  std::function<bool(const std::string&)> is_gone;   // ReconcileTerms::is_gone.
  std::function<bool()> stop_requested;              // Then takes no more jobs.
  std::function<void(const std::string& line)> say;  // For its log.
  std::chrono::milliseconds ack_wait{120'000};       // QueueTerms::ack_wait.
  std::chrono::milliseconds patience{600'000};       // While a database or a queue is away.
  // Also receives the outages that other parts of this worker report; may be null.
  std::shared_ptr<OutageLog> outages;
  bool until_done = false;            // Ends when no work is left for it.
  std::chrono::milliseconds idle{0};  // Ends after it waited so long; 0: never.
  int64_t lease_ns = 60'000'000'000;
};

struct WorkerSummary {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t given_back = 0;
  int64_t lost = 0;                         // Ended here after they were cancelled or taken over.
  int64_t dropped = 0;                      // Deliveries of jobs that could not be leased.
  std::map<std::string, int64_t> failures;  // By JobError::kind.
  std::vector<std::string> troubles;        // A sentence for each failure, up to kMostTroubles.
  // Why jobs of a session could not be done here, once per session.
  std::vector<std::string> refusals;
  std::string stopped_because;  // Empty if stopped on request or out of work.
};
inline constexpr size_t kMostTroubles = 100;

// Adds an accepted report.
void CountReport(const JobReport& report, const Job& job, WorkerSummary& summary);

// Leases a delivered job by its number, which checks its state, and drops it if that fails. Commits
// the results with the job's state before it acknowledges the message. Jobs that take milliseconds
// are taken, and reported, up to kMostLeased at a time; a longer one alone, with the others of its
// search. Not thread-safe, except GiveBackNow().
class Worker {
 public:
  // Borrows all.
  Worker(const FleetParts& parts, JobDoer& doer, WorkerTerms terms);

  // Runs until it is asked to stop, or as its terms say. kUnavailable if the database or the queue
  // was away for longer than its patience; the summary is available all the same.
  Status Run();
  const WorkerSummary& summary() const { return summary_; }
  // Called from another thread that then ends the process: queues the current jobs again, and
  // records for the fleet that the worker has ended.
  Status GiveBackNow();

 private:
  // The steps that this machine can do of a session, and their channels.
  struct Offer {
    Session session;
    std::vector<JobStep> steps;
  };
  // Jobs of one problem that could not be done, and why.
  struct Undone {
    Job first;
    Session session;
    Status why;
  };
  // Leased jobs of one problem.
  struct Search {
    Session session;
    std::vector<Job> jobs;
  };
  struct Taken {
    std::vector<Search> searches;
    std::vector<Delivery> deliveries;
    bool has_others = false;  // Jobs that others can lease, but not this worker.
  };

  Status Begin();
  Result<Reconciled> ReconcileNow();
  // Reports a clock that is far from the database's.
  void TellWhatTheClockIs(int64_t now_unix_ns);
  Status Loop();
  // True if it continues after a turn without work.
  Result<bool> GoesOnIdle();
  // One turn: takes, does, reports. Returns true if there was work.
  Result<bool> Turn();
  // Reads the open sessions, at most twice a second.
  Status LookAtSessions();
  // Prints once, if there are sessions and none of them is for this machine.
  void TellThatNothingFits(const std::vector<Session>& sessions);
  // Prints once, if the queue gives a job that the database never had: none is ever removed.
  void TellOfOthersJobs(const std::vector<int64_t>& given, const std::vector<FoundJob>& found);
  Result<bool> IsDone();
  std::vector<Channel> Channels() const;
  const Offer* OfferOf(int64_t session_id, const JobStep& step) const;
  // Takes from the next channel that has a delivery; waits a moment on each.
  Result<std::vector<Delivery>> TakeSomething();
  Result<Taken> Lease(std::vector<Delivery> deliveries);
  Status LeaseOf(const Offer& offer, const JobStep& step, std::vector<int64_t> ids, Taken& taken);
  void Acknowledge(const std::vector<Delivery>& deliveries);
  Status DoAll(const Taken& taken);
  std::vector<JobReport> DoOne(const Search& search);
  // Repeats until the database has it, within the patience.
  Status Report(const std::vector<JobReport>& reports, const std::vector<Job>& jobs);
  // Reports jobs that could not be done, and all `jobs` if `reported` is a failure.
  void TellUndone(const Status& reported, size_t jobs);
  // True if `failure` may pass and patience is left, after a rest.
  bool RestAfter(const Status& failure);
  void NoteThere();
  void SetDoing(std::string doing);
  void SetHeld(std::vector<Job> jobs);
  void Adapt(int64_t jobs, int64_t took_ns);
  WorkerState state();

  const FleetParts parts_;
  JobDoer& doer_;
  const WorkerTerms terms_;
  const std::shared_ptr<OutageLog> outages_;  // Shared like WorkerTerms::outages.
  WorkerSummary summary_;
  std::vector<Offer> offers_;
  std::vector<Undone> undone_;                   // Not reported yet.
  std::map<int64_t, int64_t> refused_until_ns_;  // Sessions refused here until then.
  bool fitted_nothing_ = false;                  // Already reported.
  bool told_of_others_jobs_ = false;
  int64_t looked_ns_ = 0;
  int64_t idle_since_ns_ = 0;
  Status away_;                // Why jobs went back; they can be done later.
  int64_t away_since_ns_ = 0;  // Database or queue; 0 while both are reachable.
  size_t next_channel_ = 0;
  int64_t most_ = 1;  // Deliveries taken at once.
  Housekeeper* housekeeper_ = nullptr;
  LeaseKeeper leases_;
  DeliveryKeeper deliveries_;
  std::mutex mutex_;  // Guards the members below.
  WorkerState state_;
  std::vector<Job> held_;  // The current jobs.
};

}  // namespace attune
