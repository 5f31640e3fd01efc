#include "tests/fleet/fleet_fixture.h"

#include <cassert>
#include <utility>

#include "tests/conformance/store/sample_records.h"

namespace attune {

FleetDatabase::FleetDatabase() {
  OpenStores(OpenSqlDatabase((folder_.path() / "attune.db").string()).value());
}

FleetDatabase::FleetDatabase(std::shared_ptr<SqlDatabase> database) {
  OpenStores(std::move(database));
}

void FleetDatabase::OpenStores(std::shared_ptr<SqlDatabase> database) {
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

std::vector<JobStep> StubDoer::StepsOf(const Session& session) {
  if (session.terms.backend != "host") return {};
  return {kMeasureStep};
}

Result<std::vector<JobReport>> StubDoer::Do(const Session&, const std::vector<Job>& jobs) {
  std::vector<JobReport> reports;
  const std::lock_guard lock(mutex_);
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

WorkerTerms TermsOf(const std::string& name) {
  WorkerTerms terms;
  terms.who.name = terms.who.owner = name;
  terms.stop_requested = [] { return false; };
  terms.say = [](const std::string&) {};
  terms.until_done = true;
  return terms;
}

}  // namespace attune
