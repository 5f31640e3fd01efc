// State of a fleet in its database beside jobs: workers, publishers of jobs, and the next jobs of
// all open sessions. docs/design/0036-a-fleet.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job.h"
#include "attune/session/job_message.h"
#include "attune/session/session.h"

namespace attune {

// A job that no worker has and that waits for nothing.
struct LeasableJob {
  int64_t id = 0;
  int64_t attempts = 0;
  int64_t priority = 0;

  friend bool operator==(const LeasableJob&, const LeasableJob&) = default;
};

// Jobs of one step in one session.
struct Backlog {
  int64_t session_id = 0;
  int64_t leased = 0;             // Jobs leased now; 0 if there are no `jobs`.
  std::vector<LeasableJob> jobs;  // By descending priority, then the oldest first.
};

// The session and state of a job, for callers that know only its number.
struct FoundJob {
  int64_t id = 0;
  int64_t session_id = 0;
  JobStep step;
  JobState state = JobState::kQueued;
  int64_t attempts = 0;
};

// A process that does jobs, as it describes itself.
struct WorkerState {
  std::string name;    // Unique among workers; printable ASCII, at most kMostWorkerNameBytes.
  std::string owner;   // Owner of its leases: user@host:namespace.boot:process.
  std::string target;  // Its targets and steps, for people.
  std::string attune_version;
  int64_t began_unix_ns = 0;
  int64_t beat_unix_ns = 0;   // Time of its last heartbeat.
  int64_t ended_unix_ns = 0;  // 0 while it runs, and for ever if it was killed.
  std::string doing;          // One line, for people; empty if it waits.
  int64_t done_count = 0;     // Jobs since it began.
  int64_t failed_count = 0;

  friend bool operator==(const WorkerState&, const WorkerState&) = default;
};
inline constexpr size_t kMostWorkerNameBytes = 200;

// Thread-safe; several processes may use one. Writes are durable when a method returns Ok.
class FleetStore {
 public:
  virtual ~FleetStore() = default;

  // Those that are not closed and have jobs, in order of their making. A closed session costs
  // nothing.
  virtual Result<std::vector<Session>> OpenSessions() = 0;
  // Up to `most` jobs.
  virtual Result<Backlog> BacklogOf(int64_t session_id, const JobStep& step, int64_t most) = 0;
  // True if a job of these steps is queued or leased. REQUIRES: there are steps.
  virtual Result<bool> HasOpenJobs(int64_t session_id, std::span<const JobStep> steps) = 0;
  // Those of `ids` that there are, up to kMostFound of them, in any order.
  virtual Result<std::vector<FoundJob>> Find(std::span<const int64_t> ids) = 0;

  // Owners of leases, each once.
  virtual Result<std::vector<std::string>> LeaseOwners(int64_t session_id) = 0;
  // As JobStore::Lease does before it leases; how many leases had expired.
  virtual Result<int64_t> GiveBackExpired(int64_t session_id, int64_t now_unix_ns) = 0;
  // Fails the job of a dead letter ("abandoned"), if it is still queued and was not leased since
  // the message was published; true if it did. That counts as an attempt, so that the same letter
  // does nothing to a job that is queued again.
  virtual Result<bool> Bury(const DeadLetter& letter, int64_t now_unix_ns) = 0;

  // True if `owner` may publish on the channel called `token` until the deadline: no other owner
  // may, or the deadline of the one that could is over.
  virtual Result<bool> HoldPublishing(std::string_view token, const std::string& owner,
                                      int64_t now_unix_ns, int64_t deadline_unix_ns) = 0;
  // On all channels.
  virtual Status LetGoOfPublishing(const std::string& owner) = 0;

  // Adds the worker of that name, or replaces its state.
  virtual Status PutWorker(const WorkerState& worker) = 0;
  // In order of their names; of none in a database that knows no workers.
  virtual Result<std::vector<WorkerState>> Workers() = 0;
};
inline constexpr size_t kMostFound = 256;

}  // namespace attune
