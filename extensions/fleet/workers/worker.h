// Takes jobs from the queue of a fleet, does them and reports what came of them.
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
  WorkerState who;                                   // What it begins as.
  std::function<bool(const std::string&)> is_gone;   // ReconcileTerms::is_gone.
  std::function<bool()> stop_requested;              // Takes nothing more then.
  std::function<void(const std::string& line)> say;  // For its log.
  std::chrono::milliseconds ack_wait{120'000};       // QueueTerms::ack_wait.
  std::chrono::milliseconds patience{600'000};       // With a database or a queue that is away.
  // Told of the same by others that this worker uses; null: by nobody.
  std::shared_ptr<OutageLog> outages;
  bool until_done = false;            // Ends when nothing is left for it to do.
  std::chrono::milliseconds idle{0};  // Ends after it waited so long; 0: never.
  int64_t lease_ns = 60'000'000'000;
};

struct WorkerSummary {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t given_back = 0;
  int64_t lost = 0;     // Ended here after somebody had cancelled them or taken them over.
  int64_t dropped = 0;  // Deliveries of jobs that could not be leased.
  std::map<std::string, int64_t> failures;  // By JobError::kind.
  std::vector<std::string> troubles;        // A sentence for each failure, up to kMostTroubles.
  // Why jobs of a session could not be done here, once for each.
  std::vector<std::string> refusals;
  std::string stopped_because;  // Empty if it was asked to, or nothing was left.
};
inline constexpr size_t kMostTroubles = 100;

// Adds a report that was taken.
void CountReport(const JobReport& report, const Job& job, WorkerSummary& summary);

// A job that is delivered is leased by its number, which checks its state, and dropped if it cannot
// be; what came of it is committed with its state before the message is acknowledged. Jobs that
// take milliseconds are taken, and reported, up to kMostLeased at a time; one that takes longer
// alone, with the others of its search. Not thread-safe, but for GiveBackNow().
class Worker {
 public:
  // Borrows all.
  Worker(const FleetParts& parts, JobDoer& doer, WorkerTerms terms);

  // Until it is asked to stop, or as its terms say. kUnavailable if the database or the queue was
  // away for longer than its patience; the summary is there all the same.
  Status Run();
  const WorkerSummary& summary() const { return summary_; }
  // From another thread, for whoever ends the process then: what is being done is queued again, and
  // the worker has ended for the others.
  Status GiveBackNow();

 private:
  // What can be done here of a session, and through which channels.
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
    bool has_others = false;  // Jobs that can be leased and that this worker cannot do.
  };

  Status Begin();
  Result<Reconciled> ReconcileNow();
  // If it is far from the database's.
  void TellWhatTheClockIs(int64_t now_unix_ns);
  Status Loop();
  // Whether it goes on after a turn in which there was nothing to do.
  Result<bool> GoesOnIdle();
  // One turn: takes, does, reports. Whether there was something to do.
  Result<bool> Turn();
  // At what is open now, at most twice a second.
  Status LookAtSessions();
  // Once, where there are sessions and none of them is for this machine.
  void TellThatNothingFits(const std::vector<Session>& sessions);
  // Once, if the queue gives a job that the database never had: none is ever removed.
  void TellOfOthersJobs(const std::vector<int64_t>& given, const std::vector<FoundJob>& found);
  Result<bool> IsDone();
  std::vector<Channel> Channels() const;
  const Offer* OfferOf(int64_t session_id, const JobStep& step) const;
  // From the next channel that has something; waits a moment on each.
  Result<std::vector<Delivery>> TakeSomething();
  Result<Taken> Lease(std::vector<Delivery> deliveries);
  Status LeaseOf(const Offer& offer, const JobStep& step, std::vector<int64_t> ids, Taken& taken);
  void Acknowledge(const std::vector<Delivery>& deliveries);
  Status DoAll(const Taken& taken);
  std::vector<JobReport> DoOne(const Search& search);
  // Again and again until it is in the database, within the patience.
  Status Report(const std::vector<JobReport>& reports, const std::vector<Job>& jobs);
  // Tells what became of jobs that could not be done, and of all `jobs` if `reported` is a failure.
  void TellUndone(const Status& reported, size_t jobs);
  // Whether `failure` may pass and there is patience left, after a rest.
  bool RestAfter(const Status& failure);
  void NoteThere();
  void SetDoing(std::string doing);
  void SetHeld(std::vector<Job> jobs);
  void Adapt(int64_t jobs, int64_t took_ns);
  WorkerState state();

  const FleetParts parts_;
  JobDoer& doer_;
  const WorkerTerms terms_;
  const std::shared_ptr<OutageLog> outages_;  // Shared as WorkerTerms::outages is.
  WorkerSummary summary_;
  std::vector<Offer> offers_;
  std::vector<Undone> undone_;                   // And not told.
  std::map<int64_t, int64_t> refused_until_ns_;  // Sessions of which nothing can be done here now.
  bool fitted_nothing_ = false;                  // That was told.
  bool told_of_others_jobs_ = false;
  int64_t looked_ns_ = 0;
  int64_t idle_since_ns_ = 0;
  Status away_;                // Why jobs went back that may be done once that has passed.
  int64_t away_since_ns_ = 0;  // The database or the queue; 0 while they are there.
  size_t next_channel_ = 0;
  int64_t most_ = 1;  // Deliveries that are taken at once.
  Housekeeper* housekeeper_ = nullptr;
  LeaseKeeper leases_;
  DeliveryKeeper deliveries_;
  std::mutex mutex_;  // Guards what follows.
  WorkerState state_;
  std::vector<Job> held_;  // What is being done.
};

}  // namespace attune
