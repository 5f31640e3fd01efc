#include "apps/attune/session/job_run.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/index_keeper.h"
#include "apps/attune/labels.h"
#include "apps/attune/progress.h"
#include "apps/attune/session/job_executor.h"
#include "apps/attune/session/lease_owner.h"
#include "apps/attune/session/stale_queue.h"
#include "attune/base/steady_time.h"
#include "attune/session/lease_keeper.h"

namespace attune {
namespace {

constexpr int64_t kLeaseNs = 60'000'000'000;
constexpr std::chrono::milliseconds kLookAgain{500};
// After so many failed problems in a row the machine is presumed unable to evaluate candidates.
constexpr int kMostFailuresInARow = 3;

class JobRunner {
 public:
  JobRunner(Application& application, const SessionPlace& place, Workshop* workshop,
            const JobRunOptions& options, RecordStore& records)
      : application_(application),
        jobs_(*application.jobs()),
        session_id_(application.session()->id),
        place_(place),
        workshop_(workshop),
        options_(options),
        executor_(place, workshop, options.terms, records),
        keeper_(jobs_, kLeaseNs),
        progress_(application.err(), clock_) {}

  Status Prepare();
  Status RunAll(IndexKeeper& index);
  // `ran`: the status of RunAll.
  JobRunSummary Finish(const Status& ran);

 private:
  // The `steps` that can be done here.
  Result<std::vector<JobStep>> PossibleSteps() const;
  // Takes over jobs of processes killed on this machine; their leases would last up to a minute
  // more. Returns true if there were any.
  Result<bool> TakeFromTheDead(const std::vector<Job>& jobs);
  // `jobs`: those that there were before anything new was queued.
  void CountProblemsWithoutJobs(const std::vector<TaggedProblem>& problems,
                                const std::vector<Job>& jobs);
  // Releases the last problems that could not be evaluated: the machine may be at fault, and
  // another one may do them, however few were left for this one.
  Status LeaveToOthers();
  // Waits when queued jobs depend on work of others: their compiling, or their search. False if
  // there is nothing to wait for.
  Result<bool> WaitForOthers();
  Status Take(const std::vector<Job>& jobs, std::vector<JobReport> reports);
  void Show(const Problem& problem, const TuneProgress& tune);

  Application& application_;
  JobStore& jobs_;
  const int64_t session_id_;
  const SessionPlace& place_;
  Workshop* const workshop_;
  const JobRunOptions& options_;
  JobExecutor executor_;
  LeaseKeeper keeper_;
  SteadyClock clock_;
  ProgressReporter progress_;
  std::vector<JobStep> steps_;
  JobRunSummary summary_;
  int64_t total_ = 0;
  bool is_waiting_ = false;  // For others, since the last lease.
  const int64_t begin_ns_ = SteadyNowNs();
};

Result<std::vector<JobStep>> JobRunner::PossibleSteps() const {
  const auto& wanted = options_.steps.empty() ? AllJobSteps() : options_.steps;
  std::vector<JobStep> possible;
  for (const JobStep& step : wanted) {
    if (workshop_ != nullptr || step.work == JobWork::kCompile) possible.push_back(step);
  }
  if (!possible.empty()) return possible;
  return Unavailable(
      "The device of this session is not here, and what was asked for has to be measured on it. "
      "'attune devices' says what is missing; --step perf:compile needs no device.");
}

Status JobRunner::Prepare() {
  ATTUNE_ASSIGN_OR_RETURN(steps_, PossibleSteps());
  if (!place_.has_device()) {
    ATTUNE_RETURN_IF_ERROR(CheckToolchain(*application_.session(), place_.toolchain));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, application_.sessions()->Problems(session_id_));
  ATTUNE_ASSIGN_OR_RETURN(SolverSurvey survey,
                          SurveySolvers(application_, *application_.session(), place_, problems));
  ATTUNE_ASSIGN_OR_RETURN(const auto jobs, jobs_.List(session_id_, {}));
  ATTUNE_RETURN_IF_ERROR(TakeFromTheDead(jobs).status());
  if (options_.stale) {
    ATTUNE_ASSIGN_OR_RETURN(summary_.queued, QueueStale(application_, survey, jobs, steps_));
  }
  executor_.SetTable(std::move(survey.table));
  executor_.SetShow(
      [this](const Problem& problem, const TuneProgress& progress) { Show(problem, progress); });
  CountProblemsWithoutJobs(problems, jobs);
  ATTUNE_ASSIGN_OR_RETURN(const JobCounts counts, jobs_.Count(session_id_, 0));
  for (const JobStep& step : steps_) {
    const auto found = counts.steps.find(step);
    if (found == counts.steps.end()) continue;
    total_ += found->second[static_cast<size_t>(JobState::kQueued)];
  }
  return Status::Ok();
}

Result<bool> JobRunner::TakeFromTheDead(const std::vector<Job>& jobs) {
  std::set<std::string> owners;
  for (const Job& job : jobs) {
    if (job.state == JobState::kLeased) owners.insert(job.owner);
  }
  bool was_somebody = false;
  for (const std::string& owner : owners) {
    if (!IsGone(owner)) continue;
    ATTUNE_RETURN_IF_ERROR(jobs_.ExpireLeasesOf(session_id_, owner));
    was_somebody = true;
  }
  return was_somebody;
}

void JobRunner::CountProblemsWithoutJobs(const std::vector<TaggedProblem>& problems,
                                         const std::vector<Job>& jobs) {
  std::set<Fingerprint> with_jobs;
  for (const Job& job : jobs) with_jobs.insert(KeyOf(job.problem));
  for (const TaggedProblem& tagged : problems) {
    summary_.problems_without_jobs += with_jobs.contains(KeyOf(tagged.problem)) ? 0 : 1;
  }
  summary_.problems_without_jobs -= summary_.queued.new_problems;
}

Status JobRunner::RunAll(IndexKeeper& index) {
  while (!executor_.IsOver() && std::ssize(executor_.in_vain().jobs) < kMostFailuresInARow) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, jobs_.NowUnixNs());
    ATTUNE_ASSIGN_OR_RETURN(
        const auto jobs, jobs_.Lease(session_id_, {steps_, LeaseOwner(), now_unix_ns, kLeaseNs}));
    if (jobs.empty()) {
      ATTUNE_ASSIGN_OR_RETURN(const bool goes_on, WaitForOthers());
      if (!goes_on) break;
      continue;
    }
    is_waiting_ = false;
    std::vector<JobClaim> claims;
    for (const Job& job : jobs) claims.push_back({job.id, job.attempts});
    keeper_.Hold(claims);
    auto reports = executor_.Do(jobs);
    keeper_.Hold({});
    if (!reports.ok()) {
      std::vector<JobReport> back = executor_.ReportsOf(jobs, {});
      for (JobReport& report : back) report.state = JobState::kQueued;
      const Status given_back = Take(jobs, std::move(back));
      if (given_back.ok()) return reports.error();
      return Status(reports.error().code(),
                    fmt::format("{} The jobs could not be given back either, and stay leased for a "
                                "minute: {}",
                                reports.error().message(), given_back.message()));
    }
    const bool was_measured =
        jobs.front().step.work == JobWork::kMeasure && reports->front().set_id != "";
    ATTUNE_RETURN_IF_ERROR(Take(jobs, std::move(*reports)));
    if (was_measured) index.NoteTuned();
    ATTUNE_RETURN_IF_ERROR(keeper_.status());
  }
  summary_.was_interrupted = options_.terms.stop_requested();
  return executor_.in_vain().jobs.empty() ? Status::Ok() : LeaveToOthers();
}

Status JobRunner::LeaveToOthers() {
  const InVain& in_vain = executor_.in_vain();
  const auto count = std::ssize(in_vain.jobs);
  summary_.stopped_because =
      count == kMostFailuresInARow
          ? fmt::format(
                "Candidates of {} problems in a row could not be evaluated, so the run has "
                "stopped, and their jobs are queued again: {}",
                count, in_vain.message)
          : fmt::format(
                "Candidates of the last {} could not be evaluated here, and {} jobs are queued "
                "again: {}",
                count == 1 ? std::string("problem") : fmt::format("{} problems", count),
                count == 1 ? "its" : "their", in_vain.message);
  JobFilter theirs;
  theirs.states = {JobState::kFailed};
  for (const auto& ids : in_vain.jobs) theirs.ids.insert(theirs.ids.end(), ids.begin(), ids.end());
  ATTUNE_ASSIGN_OR_RETURN(const int64_t queued, jobs_.Requeue(session_id_, theirs));
  summary_.failed -= queued;
  summary_.given_back += queued;
  int64_t& failures = summary_.failures[std::string(kInVain)];
  failures -= queued;
  if (failures <= 0) summary_.failures.erase(std::string(kInVain));
  return Status::Ok();
}

Result<bool> JobRunner::WaitForOthers() {
  JobFilter held;
  held.states = {JobState::kLeased};
  ATTUNE_ASSIGN_OR_RETURN(const auto leased, jobs_.List(session_id_, held));
  if (leased.empty()) return false;
  ATTUNE_ASSIGN_OR_RETURN(const bool was_somebody, TakeFromTheDead(leased));
  if (was_somebody) return true;
  if (!is_waiting_) {
    // There may be very many, and another process may be measuring meanwhile.
    JobFilter queued;
    queued.steps = steps_;
    queued.states = {JobState::kQueued};
    ATTUNE_ASSIGN_OR_RETURN(const auto waiting, jobs_.List(session_id_, queued));
    if (waiting.empty()) return false;
    is_waiting_ = true;
  }
  std::this_thread::sleep_for(kLookAgain);
  return true;
}

Status JobRunner::Take(const std::vector<Job>& jobs, std::vector<JobReport> reports) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, jobs_.NowUnixNs());
  ATTUNE_ASSIGN_OR_RETURN(const auto taken, jobs_.Report(reports, now_unix_ns));
  for (size_t i = 0; i < reports.size(); ++i) {
    const JobReport& report = reports[i];
    if (!taken[i]) {
      ++summary_.lost;
      continue;
    }
    if (report.state == JobState::kDone) ++summary_.done;
    if (report.state == JobState::kQueued) ++summary_.given_back;
    if (report.state != JobState::kFailed) continue;
    ++summary_.failed;
    ++summary_.failures[report.error.kind];
    summary_.troubles.push_back(fmt::format("{} {} of {}: {}: {}", Text(jobs[i].step),
                                            jobs[i].solver, Label(jobs[i].problem),
                                            report.error.kind, report.error.text));
  }
  return Status::Ok();
}

void JobRunner::Show(const Problem& problem, const TuneProgress& tune) {
  RunProgress progress;
  progress.problem_index = static_cast<size_t>(summary_.done + summary_.failed);
  progress.problem_count = std::max(static_cast<size_t>(total_), progress.problem_index + 1);
  progress.problem = &problem;
  progress.tune = tune;
  progress.elapsed_ns = SteadyNowNs() - begin_ns_;
  if (progress.problem_index > 0) {
    progress.eta_ns = progress.elapsed_ns / static_cast<int64_t>(progress.problem_index) *
                      static_cast<int64_t>(progress.problem_count - progress.problem_index);
  }
  progress_.Show(progress);
}

JobRunSummary JobRunner::Finish(const Status& ran) {
  summary_.compile_threads = options_.terms.compile_threads;
  summary_.failure = ran;
  summary_.device_is_elsewhere = workshop_ == nullptr;
  // Counts jobs that cannot be done here, too: they are left.
  const Result<OpenJobs> open = CountOpen(application_, options_.steps);
  if (open.ok()) summary_.open = *open;
  if (!open.ok() && summary_.failure.ok()) summary_.failure = open.status();
  progress_.Clear();
  return std::move(summary_);
}

}  // namespace

Result<JobRunSummary> RunJobs(Application& application, const SessionPlace& place,
                              Workshop* workshop, const JobRunOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * records, application.store());
  ATTUNE_ASSIGN_OR_RETURN(const std::string database, application.DatabasePath());
  SteadyClock clock;
  IndexKeeper index(application.all_records(), IndexOf(database), clock, application.err());
  JobRunner runner(application, place, workshop, options, *records);
  ATTUNE_RETURN_IF_ERROR(runner.Prepare());
  const Status ran = runner.RunAll(index);
  index.Finish();
  return runner.Finish(ran);
}

Result<OpenJobs> CountOpen(Application& application, const std::vector<JobStep>& steps) {
  ATTUNE_ASSIGN_OR_RETURN(const JobCounts counts,
                          application.jobs()->Count(application.session()->id, 0));
  const auto count = [&counts](const JobStep& step, JobState state) {
    const auto found = counts.steps.find(step);
    return found == counts.steps.end() ? 0 : found->second[static_cast<size_t>(state)];
  };
  OpenJobs open;
  std::set<JobStep> with_causes;
  for (const JobStep& step : steps.empty() ? AllJobSteps() : steps) {
    open.left += count(step, JobState::kQueued) + count(step, JobState::kLeased);
    with_causes.insert(step);
    with_causes.insert({step.search, JobWork::kCompile});
  }
  for (const JobStep& step : with_causes) open.failed += count(step, JobState::kFailed);
  return open;
}

}  // namespace attune
