#include "apps/attune/session/job_run.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/compiler_watch.h"
#include "apps/attune/index_keeper.h"
#include "apps/attune/labels.h"
#include "apps/attune/progress.h"
#include "apps/attune/session/job_outcomes.h"
#include "apps/attune/session/stale_queue.h"
#include "attune/base/file.h"
#include "attune/base/steady_time.h"
#include "attune/base/unix_time.h"
#include "attune/base/user_at_host.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/jobs/lease_keeper.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/quarantine.h"
#include "attune/verify/parallel_for.h"

namespace attune {
namespace {

constexpr int64_t kLeaseNs = 60'000'000'000;
constexpr std::chrono::milliseconds kLookAgain{500};
// Nobody can be evaluated on a machine where so many problems in a row could not.
constexpr int kMostFailuresInARow = 3;
// The class of their errors.
constexpr std::string_view kInVain = "internal";

// Process numbers mean something within one namespace alone, of which a host may have several.
std::string Namespace() {
  std::error_code error;
  const std::string name = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return error ? "pid:[?]" : name;
}

std::string Owner() { return fmt::format("{}:{}:{}", UserAtHost(), Namespace(), ::getpid()); }

// Whether the process has ended and nobody has asked how yet: where a container has no process that
// does, its number stays taken.
bool HasEnded(pid_t process) {
  const auto stat = ReadFile(fmt::format("/proc/{}/stat", process));
  // "32091 (attune) Z ...": behind the name, which may have parentheses of its own.
  const size_t name_end = stat.ok() ? stat->rfind(") ") : std::string::npos;
  return name_end != std::string::npos && (*stat)[name_end + 2] == 'Z';
}

// Whether `owner` was a process of this user beside this one, and is none now.
bool IsGone(const std::string& owner) {
  const std::string here = fmt::format("{}:{}:", UserAtHost(), Namespace());
  if (!owner.starts_with(here)) return false;
  pid_t process = 0;
  const char* const end = owner.data() + owner.size();
  const auto [rest, error] = std::from_chars(owner.data() + here.size(), end, process);
  if (error != std::errc() || rest != end || process <= 0) return false;
  return ::kill(process, 0) == 0 ? HasEnded(process) : errno == ESRCH;
}

// A config of a job that is compiled.
struct Build {
  size_t job = 0;
  const Solver* solver = nullptr;
  Config config;
  BuildOutcome outcome;
  bool was_ended = false;
};

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
        records_(records),
        keeper_(jobs_, kLeaseNs),
        progress_(application.err(), clock_) {}

  Status Prepare();
  Status RunAll(IndexKeeper& index);
  // `ran`: what RunAll said.
  JobRunSummary Finish(const Status& ran);

 private:
  bool IsOver() const {
    return options_.stop_requested() || (options_.end_ns > 0 && SteadyNowNs() >= options_.end_ns);
  }
  // Those of `steps` that can be done here.
  Result<std::vector<JobStep>> PossibleSteps() const;
  // Whoever was killed on this machine holds its jobs for up to a minute more. Whether there was
  // somebody.
  Result<bool> TakeFromTheDead(const std::vector<Job>& jobs);
  // `jobs`: those that there were before anything new was queued.
  void CountProblemsWithoutJobs(const std::vector<TaggedProblem>& problems,
                                const std::vector<Job>& jobs);
  // Of the last problems that could not be evaluated: it may be the machine that fails, not they,
  // and another one may do them, however few were left for this one.
  Status LeaveToOthers();
  // Where what is queued waits for what others work on: their compiling, or their search. False if
  // there is nothing to wait for.
  Result<bool> WaitForOthers();
  Result<std::vector<JobReport>> Do(const std::vector<Job>& jobs);
  Result<std::vector<JobReport>> Compile(const std::vector<Job>& jobs);
  Result<std::vector<Build>> BuildsOf(const std::vector<Job>& jobs);
  Result<std::vector<JobReport>> Measure(const std::vector<Job>& jobs);
  Result<TuneReport> Tune(const std::vector<Job>& jobs);
  Result<std::map<std::string, Config>> ConfigsOf(const std::vector<Job>& jobs);
  // Null if it is gone.
  const Solver* SolverOf(const Job& job) const;
  Status CheckApplies(const Job& job) const;
  // If a candidate of the job was left out because of an earlier failure, that is why none was
  // tried.
  Status BlameQuarantine(const Job& job, JobError& error);
  // One for each job, with the entry of its solver.
  std::vector<JobReport> ReportsOf(const std::vector<Job>& jobs, const JobError& error) const;
  Status Take(const std::vector<Job>& jobs, std::vector<JobReport> reports);
  void Show(const Problem& problem, const TuneProgress& tune);

  Application& application_;
  JobStore& jobs_;
  const int64_t session_id_;
  const SessionPlace& place_;
  Workshop* const workshop_;
  const JobRunOptions& options_;
  RecordStore& records_;
  LeaseKeeper keeper_;
  SteadyClock clock_;
  ProgressReporter progress_;
  SolverTable table_;
  std::vector<JobStep> steps_;
  JobRunSummary summary_;
  int64_t total_ = 0;
  // Jobs of the last problems, without a break, of which nothing could be evaluated; and why.
  std::vector<std::vector<int64_t>> in_vain_;
  std::string in_vain_message_;
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
  table_ = std::move(survey.table);
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
  while (!IsOver() && std::ssize(in_vain_) < kMostFailuresInARow) {
    ATTUNE_ASSIGN_OR_RETURN(const auto jobs,
                            jobs_.Lease(session_id_, {steps_, Owner(), UnixNowNs(), kLeaseNs}));
    if (jobs.empty()) {
      ATTUNE_ASSIGN_OR_RETURN(const bool goes_on, WaitForOthers());
      if (!goes_on) break;
      continue;
    }
    is_waiting_ = false;
    std::vector<JobClaim> claims;
    for (const Job& job : jobs) claims.push_back({job.id, job.attempts});
    keeper_.Hold(claims);
    auto reports = Do(jobs);
    keeper_.Hold({});
    if (!reports.ok()) {
      std::vector<JobReport> back = ReportsOf(jobs, {});
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
  summary_.was_interrupted = options_.stop_requested();
  return in_vain_.empty() ? Status::Ok() : LeaveToOthers();
}

Status JobRunner::LeaveToOthers() {
  const auto count = std::ssize(in_vain_);
  summary_.stopped_because =
      count == kMostFailuresInARow
          ? fmt::format(
                "Candidates of {} problems in a row could not be evaluated, so the run has "
                "stopped, and their jobs are queued again: {}",
                count, in_vain_message_)
          : fmt::format(
                "Candidates of the last {} could not be evaluated here, and {} jobs are queued "
                "again: {}",
                count == 1 ? std::string("problem") : fmt::format("{} problems", count),
                count == 1 ? "its" : "their", in_vain_message_);
  JobFilter theirs;
  theirs.states = {JobState::kFailed};
  for (const auto& ids : in_vain_) theirs.ids.insert(theirs.ids.end(), ids.begin(), ids.end());
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
    // There may be very many, and somebody may be measuring beside this process.
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

Result<std::vector<JobReport>> JobRunner::Do(const std::vector<Job>& jobs) {
  Show(jobs.front().problem, {});
  return jobs.front().step.work == JobWork::kCompile ? Compile(jobs) : Measure(jobs);
}

const Solver* JobRunner::SolverOf(const Job& job) const {
  const SolverEntry* const entry = FindEntry(table_, job.solver);
  return entry == nullptr ? nullptr : FindSolver(place_.backend->solvers(), entry->solver);
}

Status JobRunner::CheckApplies(const Job& job) const {
  const Solver* const solver = SolverOf(job);
  if (solver == nullptr) {
    return NotFound(fmt::format("There is no solver {} any more.", job.solver));
  }
  return solver->IsApplicable(job.problem, place_.target);
}

std::vector<JobReport> JobRunner::ReportsOf(const std::vector<Job>& jobs,
                                            const JobError& error) const {
  std::vector<JobReport> reports;
  for (const Job& job : jobs) {
    JobReport& report = reports.emplace_back();
    report.claim = {job.id, job.attempts};
    report.state = error.kind.empty() ? JobState::kDone : JobState::kFailed;
    report.error = error;
    if (const SolverEntry* entry = FindEntry(table_, job.solver)) report.entry_id = entry->id;
  }
  return reports;
}

Result<std::map<std::string, Config>> JobRunner::ConfigsOf(const std::vector<Job>& jobs) {
  std::vector<SolverId> solvers;
  for (const Job& job : jobs) {
    if (const SolverEntry* entry = FindEntry(table_, job.solver)) solvers.push_back(entry->solver);
  }
  return RecordedConfigs(records_, {jobs.front().problem, options_.tune.cache}, solvers);
}

Result<std::vector<Build>> JobRunner::BuildsOf(const std::vector<Job>& jobs) {
  const Problem& problem = jobs.front().problem;
  std::map<std::string, Config> recorded;
  if (jobs.front().step.search == JobSearch::kFind) {
    ATTUNE_ASSIGN_OR_RETURN(recorded, ConfigsOf(jobs));
  }
  std::vector<Build> builds;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!CheckApplies(jobs[i]).ok()) continue;
    const Solver* const solver = SolverOf(jobs[i]);
    CandidateSource::Options asking;
    asking.searcher = options_.tune.searcher;
    asking.seed = options_.tune.seed;
    if (jobs[i].step.search == JobSearch::kFind) {
      const auto found = recorded.find(jobs[i].solver);
      if (found != recorded.end()) asking.only_configs.insert(*found);
    }
    std::vector<std::string> notes;
    ATTUNE_ASSIGN_OR_RETURN(
        CandidateSource source,
        CandidateSource::Create(problem, place_.target, {solver}, asking, &notes));
    std::vector<Candidate> candidates = source.Ask(1);
    if (jobs[i].step.search == JobSearch::kPerf) {
      for (Candidate& candidate : source.Ask(kExhaustiveSize)) {
        candidates.push_back(std::move(candidate));
      }
    }
    for (Candidate& candidate : candidates) {
      builds.push_back({i, solver, std::move(candidate.config), {}});
    }
  }
  return builds;
}

Result<std::vector<JobReport>> JobRunner::Compile(const std::vector<Job>& jobs) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Build> builds, BuildsOf(jobs));
  const OpenedKernelCache cache = OpenDefaultKernelCache();
  ATTUNE_RETURN_IF_ERROR(cache.kept);
  Builder builder(*cache.cache);
  const Problem& problem = jobs.front().problem;
  {
    const CompilerWatch watch(options_.stop_requested);
    ParallelFor(
        std::ssize(builds),
        [&](int64_t i) {
          Build& build = builds[static_cast<size_t>(i)];
          if (IsOver()) return;
          build.outcome = builder.Build({build.solver, problem, build.config}, place_.target);
          // A failure says nothing once compilers are killed.
          build.was_ended = build.outcome.failure() == nullptr || !options_.stop_requested();
        },
        options_.compile_threads);
  }
  auto reports = ReportsOf(jobs, {"not_applicable", "Its solver is gone, or does not apply."});
  std::set<size_t> told;  // Jobs of which one config is built, or the first has failed.
  for (const Build& build : builds) {
    JobReport& report = reports[build.job];
    if (!build.was_ended) {
      if (!told.insert(build.job).second) continue;
      report.state = JobState::kQueued;
      report.error = {};
      continue;
    }
    if (const Failure* failure = build.outcome.failure()) {
      if (!told.insert(build.job).second) continue;
      report.error = {std::string(Name(failure->kind)),
                      fmt::format("{}: {}", Text(Candidate{build.solver->id(), build.config}),
                                  failure->message)};
      continue;
    }
    // One that is built is something to measure, whatever became of the others.
    told.insert(build.job);
    report.state = JobState::kDone;
    report.error = {};
  }
  return reports;
}

Result<TuneReport> JobRunner::Tune(const std::vector<Job>& jobs) {
  TuneOptions tune = options_.tune;
  for (const Job& job : jobs) tune.only_solvers.insert(job.solver);
  if (jobs.front().step.search == JobSearch::kFind) {
    ATTUNE_ASSIGN_OR_RETURN(tune.only_configs, ConfigsOf(jobs));
    // The default of a solver without a recorded one; an empty map would search everything.
    for (const Job& job : jobs) {
      const Solver* const solver = SolverOf(job);
      if (solver == nullptr || tune.only_configs.contains(job.solver)) continue;
      auto usual = solver->DefaultConfig(job.problem, place_.target);
      if (usual.ok()) tune.only_configs.emplace(job.solver, std::move(*usual));
    }
  }
  TuneBounds bounds;
  bounds.stop_requested = options_.stop_requested;
  bounds.end_ns = options_.end_ns;
  Tuner tuner(workshop_->PartsFor(records_), tune);
  return tuner.Tune(
      jobs.front().problem,
      [&](const TuneProgress& progress) { Show(jobs.front().problem, progress); }, bounds);
}

Result<std::vector<JobReport>> JobRunner::Measure(const std::vector<Job>& jobs) {
  const Result<TuneReport> tuned = Tune(jobs);
  if (tuned.ok()) {
    in_vain_.clear();
    ATTUNE_ASSIGN_OR_RETURN(const auto errors, OutcomesIn(records_, tuned->set_id, jobs));
    auto reports = ReportsOf(jobs, {});
    for (size_t i = 0; i < reports.size(); ++i) {
      reports[i].set_id = tuned->set_id;
      reports[i].error = errors[i];
      if (errors[i].kind.empty()) continue;
      reports[i].state = JobState::kFailed;
      const Status applies = CheckApplies(jobs[i]);
      if (!applies.ok()) {
        reports[i].error = {"not_applicable", applies.message()};
      } else if (errors[i].kind == kNeverTried) {
        ATTUNE_RETURN_IF_ERROR(BlameQuarantine(jobs[i], reports[i].error));
      }
    }
    return reports;
  }
  switch (tuned.error().code()) {
    case StatusCode::kUnsupported:
      return ReportsOf(jobs, {"not_applicable", tuned.error().message()});
    case StatusCode::kInternal:
      in_vain_.emplace_back();
      for (const Job& job : jobs) in_vain_.back().push_back(job.id);
      in_vain_message_ = tuned.error().message();
      return ReportsOf(jobs, {std::string(kInVain), in_vain_message_});
    case StatusCode::kDeadlineExceeded: {
      if (!IsOver()) return ReportsOf(jobs, {"budget", tuned.error().message()});
      auto reports = ReportsOf(jobs, {});
      for (JobReport& report : reports) report.state = JobState::kQueued;
      return reports;
    }
    default:
      return tuned.error();
  }
}

Status JobRunner::BlameQuarantine(const Job& job, JobError& error) {
  if (options_.tune.retry_quarantined) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const auto quarantined,
                          FindQuarantined(records_, job.problem, place_.target, place_.environment,
                                          MatchPolicy::Default()));
  for (const auto& [candidate, failure] : quarantined) {
    if (candidate.solver.name != job.solver) continue;
    error = {"quarantined",
             fmt::format("{} was left out, because it was {} before: {} --retry-quarantined tries "
                         "it again.",
                         Text(candidate), Name(failure.kind), failure.message)};
    return Status::Ok();
  }
  return Status::Ok();
}

Status JobRunner::Take(const std::vector<Job>& jobs, std::vector<JobReport> reports) {
  ATTUNE_ASSIGN_OR_RETURN(const auto taken, jobs_.Report(reports, UnixNowNs()));
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
  summary_.compile_threads = options_.compile_threads;
  summary_.failure = ran;
  summary_.device_is_elsewhere = workshop_ == nullptr;
  // Of those that cannot be done here, too: they are left.
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
