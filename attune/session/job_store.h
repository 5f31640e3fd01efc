// Stores jobs and their leases.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job.h"
#include "attune/session/solver_table.h"

namespace attune {

// Jobs to load: each step for each solver of each problem.
struct JobLoad {
  std::vector<JobStep> steps;
  int64_t priority = 0;
  std::string reason;
  std::string loaded_by;
  // Solvers that compile nothing get no compile jobs.
  std::vector<std::string> compiling_solvers;
  // Steps that some solvers, by their names, get no jobs of.
  std::set<std::pair<std::string, JobStep>> left_out;
};

struct LoadedJobs {
  int64_t added = 0;
  int64_t already_there = 0;  // Left unchanged in any state, but for their priority.
  int64_t raised = 0;  // To the load's priority, of those that were there and had a lower one.
};

// Selects jobs of a session. Empty fields do not restrict.
struct JobFilter {
  std::vector<JobStep> steps;
  std::vector<JobState> states;
  std::optional<Problem> problem;
  std::string solver;
  std::vector<int64_t> ids;
};

// The owner of a lease, and its duration.
struct LeaseTerms {
  std::vector<JobStep> steps;  // The first that has a job gives it.
  std::string owner;
  int64_t now_unix_ns = 0;
  int64_t lease_ns = 0;
  // Those of these jobs that can be leased, up to kMostLeased, each with the others of its problem
  // and step; empty for...
  std::vector<int64_t> ids = {};
  // ...so many of the first, each with those others.
  int64_t most = 1;
};
inline constexpr size_t kMostLeased = 64;

// A lease: only its attempt may report.
struct JobClaim {
  int64_t job_id = 0;
  int64_t attempt = 0;
};

struct JobReport {
  JobClaim claim;
  // kDone or kFailed, or kQueued to give it back untried.
  JobState state = JobState::kDone;
  int64_t entry_id = 0;
  std::string set_id;
  JobError error;
  // The set is at its end, which is written with the state of the job, or not at all.
  bool finishes_set = false;
};

// Jobs that one owner ended recently, and its present lease.
struct OwnerWork {
  int64_t ended = 0;                // Jobs that became done or failed after the moment asked for...
  int64_t first_ended_unix_ns = 0;  // ...when the first of them did, 0 for none...
  int64_t ended_first = 0;          // ...how many at that very moment: of one problem, together...
  int64_t last_ended_unix_ns = 0;   // ...and when the last did.
  int64_t deadline_unix_ns = 0;     // The last of its leases; 0 if it has none.
};

struct JobCounts {
  using ByState = std::array<int64_t, kJobStates>;  // By JobState.
  std::map<JobStep, ByState> steps;
  std::map<std::string, int64_t> failures;    // Jobs that are failed now, by JobError::kind.
  std::map<std::string, OwnerWork> owners;    // By Job::owner.
  std::map<int64_t, int64_t> ended_by_entry;  // Done or failed, by Job::entry_id.

  int64_t Of(JobState state) const;  // Over all steps.
};

// The rate at which jobs end while there are workers.
struct JobRate {
  bool is_worked_on = false;  // There is an unexpired lease.
  // Over the time between the first and the last end of each owner, or until now if the owner is at
  // work; 0 if nothing ended but at the first moment. Breaks without any worker do not count.
  double per_second = 0;
};
JobRate RateOf(const JobCounts& counts, int64_t now_unix_ns);

// Thread-safe; several processes may use one. Writes are durable when a method returns Ok.
//
// A measure job follows the compile job of its search, whenever either of them changes: it is ready
// if that is done, or if there is none; it is cancelled, with the cause ("compile"), if that failed
// or was cancelled, and queued again with it. A find job is not leased while a perf job of its
// problem and solver is leased.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // All or nothing. Existing jobs that have not ended get the priority of the load if theirs is
  // lower, and with a measure job so does the compile job that it waits for. kFailedPrecondition if
  // the session is closed.
  virtual Result<LoadedJobs> Load(int64_t session_id, const JobLoad& load,
                                  std::span<const ProblemSolvers> problems) = 0;
  // The free jobs of one step and one problem (of more only if `terms` says so) that wait for
  // nothing, by descending priority, then the oldest first; empty if there are none. Before that,
  // expired leases are given back, or fail their job ("abandoned") once kMostLostLeases have
  // expired. kFailedPrecondition if the session is closed.
  virtual Result<std::vector<Job>> Lease(int64_t session_id, const LeaseTerms& terms) = 0;
  // Ends the leases of `owner`, for callers that know that it is gone.
  virtual Status ExpireLeasesOf(int64_t session_id, const std::string& owner) = 0;
  // Puts off the deadlines of those that are still held; the number of them.
  virtual Result<int64_t> Renew(std::span<const JobClaim> claims, int64_t deadline_unix_ns) = 0;
  // One transaction, with the ends of their sets. Reports of leases that are no longer held change
  // nothing; returns for each report whether it changed its job. kNotFound, and nothing is written,
  // if a set that ends does not exist.
  virtual Result<std::vector<bool>> Report(std::span<const JobReport> reports,
                                           int64_t now_unix_ns) = 0;

  // Cancels queued and leased jobs; returns their number. kFailedPrecondition if the session is
  // closed.
  virtual Result<int64_t> Cancel(int64_t session_id, const JobFilter& filter,
                                 const JobError& why) = 0;
  // Queues ended jobs, with any result, as if they had never been tried; for a search for
  // parameters also the find jobs that measured with them. Returns the number of jobs queued: a
  // measure job with a failed compile job is not. kFailedPrecondition if the session is closed.
  virtual Result<int64_t> Requeue(int64_t session_id, const JobFilter& filter) = 0;

  // In the order in which they were loaded.
  virtual Result<std::vector<Job>> List(int64_t session_id, const JobFilter& filter) = 0;
  virtual Result<JobCounts> Count(int64_t session_id, int64_t since_unix_ns) = 0;

  // The time by the clock of the database, to which all deadlines refer, so that machines with
  // different clocks agree on it. For a file the clock is this machine's.
  virtual Result<int64_t> NowUnixNs() = 0;
};

}  // namespace attune
