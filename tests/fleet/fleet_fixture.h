// Sessions with jobs, and executors that do them without real work.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "attune/session/session_store.h"
#include "extensions/fleet/workers/job_doer.h"
#include "extensions/fleet/workers/worker.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/fleet/session_oracle.h"

namespace attune {

inline constexpr JobStep kMeasureStep = {JobSearch::kPerf, JobWork::kMeasure};

// A database with the stores of a fleet, and the sessions of one backend.
class FleetDatabase {
 public:
  // In a file of its own.
  FleetDatabase();
  explicit FleetDatabase(std::shared_ptr<SqlDatabase> database);

  // A session with `count` jobs of one solver, each of its own problem. The number of the session.
  int64_t NewSession(const std::string& name, int count, int64_t priority = 0);
  // More of them, from problem `first` on.
  void Load(int64_t session_id, int first, int count, int64_t priority = 0);
  std::vector<Job> JobsOf(int64_t session_id, JobState state);
  // All that it has of one session.
  SessionState StateOf(int64_t session_id);

  FleetStore& fleet() { return *fleet_; }
  JobStore& jobs() { return *jobs_; }
  SessionStore& sessions() { return *sessions_; }

 private:
  void OpenStores(std::shared_ptr<SqlDatabase> database);

  TemporaryFolder folder_;
  std::unique_ptr<RecordStore> records_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<FleetStore> fleet_;
};

// Says of every job that it is done, and notes it. Thread-safe, unlike others of its kind: several
// workers may share one.
class StubDoer final : public JobDoer {
 public:
  std::vector<JobStep> StepsOf(const Session& session) override;
  void LookAgain() override { has_looked_again_ = true; }
  Result<std::vector<JobReport>> Do(const Session& session, const std::vector<Job>& jobs) override;
  std::string WhyNoMore() override { return ""; }

  // Numbers of the jobs, as often as they were done.
  std::vector<int64_t> done();
  // Jobs of this solver fail instead.
  std::string failing_solver;
  // Before anything is done again so many times fail for what may pass.
  int times_away = 0;
  // Nothing of this session can be done.
  int64_t refused_session = 0;
  // It fits no session any more once it has looked again.
  bool is_another_then = false;

 private:
  std::mutex mutex_;
  std::vector<int64_t> done_;
  bool has_looked_again_ = false;
};

// The jobs of another store, with the faults of servers.
class TroubledJobs final : public JobStore {
 public:
  // Borrows `jobs`.
  explicit TroubledJobs(JobStore& jobs) : jobs_(jobs) {}

  int64_t clock_ahead_ns = 0;           // Relative to this machine's.
  std::vector<Status> report_failures;  // The next reports fail with them, the last one first.

  Result<int64_t> NowUnixNs() override;
  Result<LoadedJobs> Load(int64_t session_id, const JobLoad& load,
                          std::span<const ProblemSolvers> problems) override;
  Result<std::vector<Job>> Lease(int64_t session_id, const LeaseTerms& terms) override;
  Status ExpireLeasesOf(int64_t session_id, const std::string& owner) override;
  Result<int64_t> Renew(std::span<const JobClaim> claims, int64_t deadline_unix_ns) override;
  Result<std::vector<bool>> Report(std::span<const JobReport> reports,
                                   int64_t now_unix_ns) override;
  Result<int64_t> Cancel(int64_t session_id, const JobFilter& filter, const JobError& why) override;
  Result<int64_t> Requeue(int64_t session_id, const JobFilter& filter) override;
  Result<std::vector<Job>> List(int64_t session_id, const JobFilter& filter) override;
  Result<JobCounts> Count(int64_t session_id, int64_t since_unix_ns) override;

 private:
  JobStore& jobs_;
};

// Terms of a worker that ends when nothing is left.
WorkerTerms TermsOf(const std::string& name);

}  // namespace attune
