#include "tests/fleet/fleet_fixture.h"

#include <cassert>
#include <utility>

#include "attune/base/unix_time.h"
#include "attune/session/session_records.h"
#include "tests/conformance/store/sample_records.h"

namespace attune {

FleetDatabase::FleetDatabase() {
  OpenStores(OpenSqlDatabase((folder_.path() / "attune.db").string()).value());
}

FleetDatabase::FleetDatabase(std::shared_ptr<SqlDatabase> database) {
  OpenStores(std::move(database));
}

void FleetDatabase::OpenStores(std::shared_ptr<SqlDatabase> database) {
  records_ = RecordsIn(database);
  sessions_ = SessionsIn(database);
  jobs_ = JobsIn(database);
  fleet_ = FleetIn(std::move(database));
}

int64_t FleetDatabase::NewSession(const std::string& name, int count, int64_t priority) {
  Session session;
  session.name = name;
  session.terms.backend = "host";
  session.terms.arch = "x86-64-v3";
  const int64_t id = sessions_->Create(session)->id;
  Load(id, 1, count, priority);
  return id;
}

void FleetDatabase::Load(int64_t session_id, int first, int count, int64_t priority) {
  JobLoad load;
  load.steps = {kMeasureStep};
  load.priority = priority;
  std::vector<ProblemSolvers> problems;
  for (int i = 0; i < count; ++i) problems.push_back({SampleProblem(first + i), {"k"}});
  const auto loaded = jobs_->Load(session_id, load, problems);
  assert(loaded.ok() && loaded->added == count);
  (void)loaded;
}

std::vector<Job> FleetDatabase::JobsOf(int64_t session_id, JobState state) {
  JobFilter filter;
  filter.states = {state};
  return jobs_->List(session_id, filter).value();
}

SessionState FleetDatabase::StateOf(int64_t session_id) {
  const auto own = RecordsOf(session_id, *records_, *sessions_);
  return {jobs_->List(session_id, {}).value(), Collected(*own).value()};
}

std::vector<JobStep> StubDoer::StepsOf(const Session& session) {
  const bool is_another = is_another_then && has_looked_again_;
  if (session.terms.backend != "host" || is_another) return {};
  return {kMeasureStep};
}

Result<std::vector<JobReport>> StubDoer::Do(const Session& session, const std::vector<Job>& jobs) {
  if (session.id == refused_session) return Internal("It throws whatever it is given.");
  std::vector<JobReport> reports;
  const std::lock_guard lock(mutex_);
  if (times_away > 0) {
    --times_away;
    return ResourceExhausted("It has no space left.");
  }
  for (const Job& job : jobs) {
    JobReport& report = reports.emplace_back();
    report.claim = {job.id, job.attempts};
    report.set_id = "set";
    done_.push_back(job.id);
    if (job.solver != failing_solver) continue;
    report.state = JobState::kFailed;
    report.error = {"crashed", "it's \"gone\"\nfor good"};
  }
  return reports;
}

std::vector<int64_t> StubDoer::done() {
  const std::lock_guard lock(mutex_);
  return done_;
}

Result<int64_t> TroubledJobs::NowUnixNs() { return UnixNowNs() + clock_ahead_ns; }

Result<LoadedJobs> TroubledJobs::Load(int64_t session_id, const JobLoad& load,
                                      std::span<const ProblemSolvers> problems) {
  return jobs_.Load(session_id, load, problems);
}

Result<std::vector<Job>> TroubledJobs::Lease(int64_t session_id, const LeaseTerms& terms) {
  return jobs_.Lease(session_id, terms);
}

Status TroubledJobs::ExpireLeasesOf(int64_t session_id, const std::string& owner) {
  return jobs_.ExpireLeasesOf(session_id, owner);
}

Result<int64_t> TroubledJobs::Renew(std::span<const JobClaim> claims, int64_t deadline_unix_ns) {
  return jobs_.Renew(claims, deadline_unix_ns);
}

Result<std::vector<bool>> TroubledJobs::Report(std::span<const JobReport> reports,
                                               int64_t now_unix_ns) {
  if (report_failures.empty()) return jobs_.Report(reports, now_unix_ns);
  const Status failure = report_failures.back();
  report_failures.pop_back();
  return failure;
}

Result<int64_t> TroubledJobs::Cancel(int64_t session_id, const JobFilter& filter,
                                     const JobError& why) {
  return jobs_.Cancel(session_id, filter, why);
}

Result<int64_t> TroubledJobs::Requeue(int64_t session_id, const JobFilter& filter) {
  return jobs_.Requeue(session_id, filter);
}

Result<std::vector<Job>> TroubledJobs::List(int64_t session_id, const JobFilter& filter) {
  return jobs_.List(session_id, filter);
}

Result<JobCounts> TroubledJobs::Count(int64_t session_id, int64_t since_unix_ns) {
  return jobs_.Count(session_id, since_unix_ns);
}

WorkerTerms TermsOf(const std::string& name) {
  WorkerTerms terms;
  terms.who.name = terms.who.owner = name;
  terms.stop_requested = [] { return false; };
  terms.say = [](const std::string&) {};
  terms.until_done = true;
  return terms;
}

}  // namespace attune
