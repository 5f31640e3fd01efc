// Keeps jobs and who works on them.
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
  int64_t already_there = 0;  // Left as they are, whatever their state, but for their priority.
  int64_t raised = 0;  // To the load's priority, of those that were there and had a lower one.
};

// Which jobs of a session. Empty fields do not restrict.
struct JobFilter {
  std::vector<JobStep> steps;
  std::vector<JobState> states;
  std::optional<Problem> problem;
  std::string solver;
  std::vector<int64_t> ids;
};

// Who leases, and for how long.
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

// What one owner has ended of late, and whether it is at work.
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
  std::map<std::string, int64_t> failures;    // Of those that are failed now, by JobError::kind.
  std::map<std::string, OwnerWork> owners;    // By Job::owner.
  std::map<int64_t, int64_t> ended_by_entry;  // Done or failed, by Job::entry_id.

  int64_t Of(JobState state) const;  // Over all steps.
};

// How fast jobs end while somebody works.
struct JobRate {
  bool is_worked_on = false;  // Somebody holds a lease whose deadline is to come.
  // Over the time between the first and the last end of each owner, to this moment for one at work;
  // 0 if nothing ended but at the first moment. Breaks in which nobody worked do not count.
  double per_second = 0;
};
JobRate RateOf(const JobCounts& counts, int64_t now_unix_ns);

// Thread-safe; several processes may use one. What is written is durable when a method returns Ok.
//
// A measure job follows the compile job of its search, whenever either of them changes: it is ready
// if that is done, or if there is none; it is cancelled, with the cause ("compile"), if that failed
// or was cancelled, and queued again with it. A find job is leased by nobody while a perf job of
// its problem and solver is.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // All or nothing. Jobs that are there already and have not ended get the priority of the load if
  // theirs is lower, and with a measure job so does the compile job that it waits for.
  // kFailedPrecondition if the session is closed.
  virtual Result<LoadedJobs> Load(int64_t session_id, const JobLoad& load,
                                  std::span<const ProblemSolvers> problems) = 0;
  // The jobs of one step and one problem (of more only if `terms` says so) that nobody has and that
  // wait for nothing, of the highest priority and the oldest first; empty if there are none. Leases
  // that have expired are given back before, or fail their job ("abandoned") where kMostLostLeases
  // have. kFailedPrecondition if the session is closed.
  virtual Result<std::vector<Job>> Lease(int64_t session_id, const LeaseTerms& terms) = 0;
  // The leases of `owner` are over: for whoever knows that it is gone.
  virtual Status ExpireLeasesOf(int64_t session_id, const std::string& owner) = 0;
  // Puts off the deadlines of those that are still held; the number of them.
  virtual Result<int64_t> Renew(std::span<const JobClaim> claims, int64_t deadline_unix_ns) = 0;
  // One transaction, with the ends of their sets. Reports of leases that are no longer held change
  // nothing; for each, whether it did. kNotFound, and nothing is written, if a set that ends is not
  // there.
  virtual Result<std::vector<bool>> Report(std::span<const JobReport> reports,
                                           int64_t now_unix_ns) = 0;

  // Of queued and leased ones; how many are cancelled by that. kFailedPrecondition if the session
  // is closed.
  virtual Result<int64_t> Cancel(int64_t session_id, const JobFilter& filter,
                                 const JobError& why) = 0;
  // Queues those that ended, whatever came of them, as if they had never been tried; with a search
  // for parameters also what find measured with them. How many are queued by that: a measure job
  // whose compile job has failed is not. kFailedPrecondition if the session is closed.
  virtual Result<int64_t> Requeue(int64_t session_id, const JobFilter& filter) = 0;

  // In the order in which they were loaded.
  virtual Result<std::vector<Job>> List(int64_t session_id, const JobFilter& filter) = 0;
  virtual Result<JobCounts> Count(int64_t session_id, int64_t since_unix_ns) = 0;

  // The moment, by the clock of the database, by which every deadline goes: machines whose clocks
  // differ agree on it. Of a file the clock is this machine's.
  virtual Result<int64_t> NowUnixNs() = 0;
};

}  // namespace attune
