#include "apps/attune/session/job_executor.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/compiler_log.h"
#include "apps/attune/compiler_watch.h"
#include "apps/attune/session/job_outcomes.h"
#include "apps/attune/session/kernel_exchange.h"
#include "attune/base/diverted_errors.h"
#include "attune/base/parallel_for.h"
#include "attune/base/steady_time.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/quarantine.h"

namespace attune {

// A config of a job that is compiled.
struct JobExecutor::Build {
  size_t job = 0;
  const Solver* solver = nullptr;
  Config config;
  BuildOutcome outcome;
  bool was_ended = false;

  // Nothing where none can be made, or nothing is compiled.
  BuildRecipe RecipeFor(const Problem& problem, const Target& target) const {
    auto recipe = solver->Recipe(problem, config, target);
    return recipe.ok() ? std::move(*recipe) : BuildRecipe();
  }
};

bool JobExecutor::IsOver() const {
  return options_.stop_requested() || (options_.end_ns > 0 && SteadyNowNs() >= options_.end_ns);
}

Result<std::vector<JobReport>> JobExecutor::Do(const std::vector<Job>& jobs) {
  show_(jobs.front().problem, {});
  return jobs.front().step.work == JobWork::kCompile ? Compile(jobs) : Measure(jobs);
}

const Solver* JobExecutor::SolverOf(const Job& job) const {
  const SolverEntry* const entry = FindEntry(table_, job.solver);
  return entry == nullptr ? nullptr : FindSolver(place_.backend->solvers(), entry->solver);
}

Status JobExecutor::CheckApplies(const Job& job) const {
  const Solver* const solver = SolverOf(job);
  if (solver == nullptr) {
    return NotFound(fmt::format("There is no solver {} any more.", job.solver));
  }
  return solver->IsApplicable(job.problem, place_.target);
}

std::vector<JobReport> JobExecutor::ReportsOf(const std::vector<Job>& jobs,
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

Result<std::map<std::string, Config>> JobExecutor::ConfigsOf(const std::vector<Job>& jobs) {
  std::vector<SolverId> solvers;
  for (const Job& job : jobs) {
    if (const SolverEntry* entry = FindEntry(table_, job.solver)) solvers.push_back(entry->solver);
  }
  const Problem& problem = jobs.front().problem;
  const TuneOptions tune = OptionsFor(options_.tune, problem, workshop_->place().target);
  return RecordedConfigs(*records_, {problem, tune.cache}, solvers);
}

Result<std::vector<JobExecutor::Build>> JobExecutor::BuildsOf(const std::vector<Job>& jobs) {
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

std::vector<BuildRecipe> JobExecutor::RecipesOf(const std::vector<Build>& builds,
                                                const Problem& problem) const {
  std::vector<BuildRecipe> recipes;
  for (const Build& build : builds) recipes.push_back(build.RecipeFor(problem, place_.target));
  return recipes;
}

void JobExecutor::Offer(const std::vector<Build>& builds, const Problem& problem) const {
  std::vector<BuiltKernel> kernels;
  for (const Build& build : builds) {
    const Artifact* const artifact = build.was_ended ? build.outcome.artifact() : nullptr;
    if (artifact == nullptr) continue;
    const BuildRecipe recipe = build.RecipeFor(problem, place_.target);
    if (!recipe.empty()) kernels.push_back({KernelCacheKey(recipe), artifact->bytes});
  }
  options_.kernels->Offer(kernels);
}

Status JobExecutor::FetchKernels(const std::vector<Job>& jobs) {
  if (options_.kernels == nullptr) return Status::Ok();
  const bool compiles = std::any_of(jobs.begin(), jobs.end(), [this](const Job& job) {
    const Solver* const solver = SolverOf(job);
    return solver != nullptr && solver->traits().compiles;
  });
  if (!compiles) return Status::Ok();
  // Workers look into the folder, not into the memory of this process.
  const OpenedKernelCache cache = OpenDefaultKernelCache();
  if (!cache.kept.ok()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Build> builds, BuildsOf(jobs));
  options_.kernels->Fetch(RecipesOf(builds, jobs.front().problem), *cache.cache);
  return Status::Ok();
}

JobError JobExecutor::TooLate(std::string_view why) const {
  return {
      std::string(kTooLate),
      fmt::format("It was given up at its deadline ({:g} s, --job-deadline).{}{}",
                  static_cast<double>(options_.deadline_ns) / 1e9, why.empty() ? "" : " ", why)};
}

Result<std::vector<JobReport>> JobExecutor::Compile(const std::vector<Job>& jobs) {
  const int64_t begin_ns = SteadyNowNs();
  const auto is_late = [&] {
    return options_.deadline_ns > 0 && SteadyNowNs() - begin_ns >= options_.deadline_ns;
  };
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Build> builds, BuildsOf(jobs));
  const OpenedKernelCache cache = OpenDefaultKernelCache();
  ATTUNE_RETURN_IF_ERROR(cache.kept);
  BuilderOptions builder_options;
  if (options_.log != nullptr) {
    builder_options.on_warnings = [this](std::string_view log) { options_.log->Write(log); };
  }
  Builder builder(*cache.cache, builder_options);
  const Problem& problem = jobs.front().problem;
  if (options_.kernels != nullptr) {
    options_.kernels->Fetch(RecipesOf(builds, problem), *cache.cache);
  }
  {
    const DivertedErrors errors(options_.log == nullptr ? -1 : options_.log->descriptor());
    const CompilerWatch watch([&] { return is_late() || options_.stop_requested(); });
    ParallelFor(
        std::ssize(builds),
        [&](int64_t i) {
          Build& build = builds[static_cast<size_t>(i)];
          if (IsOver() || is_late()) return;
          build.outcome = builder.Build({build.solver, problem, build.config}, place_.target);
          // A failure says nothing once compilers are killed.
          build.was_ended =
              build.outcome.failure() == nullptr || !(is_late() || options_.stop_requested());
        },
        options_.compile_threads);
  }
  if (options_.kernels != nullptr) Offer(builds, problem);
  auto reports = ReportsOf(jobs, {"not_applicable", "Its solver is gone, or does not apply."});
  std::set<size_t> told;  // Jobs of which one config is built, or the first has failed.
  for (const Build& build : builds) {
    JobReport& report = reports[build.job];
    if (!build.was_ended) {
      if (!told.insert(build.job).second) continue;
      report.state = IsOver() ? JobState::kQueued : JobState::kFailed;
      report.error = IsOver() ? JobError() : TooLate("");
      continue;
    }
    if (const Failure* failure = build.outcome.failure()) {
      if (!told.insert(build.job).second) continue;
      report.error = {std::string(Name(failure->kind)),
                      fmt::format("{}: {}", Text(Candidate{build.solver->id(), build.config}),
                                  failure->message)};
      continue;
    }
    // A built candidate is something to measure, whatever the outcome of the others.
    told.insert(build.job);
    report.state = JobState::kDone;
    report.error = {};
  }
  return reports;
}

Result<TuneReport> JobExecutor::Tune(const std::vector<Job>& jobs) {
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
  bounds.longest_ns = options_.deadline_ns;
  Tuner tuner(workshop_->PartsFor(*records_), tune);
  return tuner.Tune(
      jobs.front().problem,
      [&](const TuneProgress& progress) { show_(jobs.front().problem, progress); }, bounds);
}

Result<std::vector<JobReport>> JobExecutor::Measure(const std::vector<Job>& jobs) {
  ATTUNE_RETURN_IF_ERROR(FetchKernels(jobs));
  ends_.clear();
  const Result<TuneReport> tuned = Tune(jobs);
  if (tuned.ok()) {
    in_vain_.jobs.clear();
    ATTUNE_ASSIGN_OR_RETURN(const auto errors, OutcomesIn(*records_, tuned->set_id, jobs));
    auto reports = ReportsOf(jobs, {});
    for (size_t i = 0; i < reports.size(); ++i) {
      reports[i].set_id = tuned->set_id;
      reports[i].finishes_set = ends_.contains(tuned->set_id);
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
      in_vain_.jobs.emplace_back();
      for (const Job& job : jobs) in_vain_.jobs.back().push_back(job.id);
      in_vain_.message = tuned.error().message();
      return ReportsOf(jobs, {std::string(kInVain), in_vain_.message});
    case StatusCode::kDeadlineExceeded: {
      if (!IsOver()) {
        const bool is_late = options_.deadline_ns > 0;
        return ReportsOf(jobs, is_late ? TooLate(tuned.error().message())
                                       : JobError{"budget", tuned.error().message()});
      }
      auto reports = ReportsOf(jobs, {});
      for (JobReport& report : reports) report.state = JobState::kQueued;
      return reports;
    }
    default:
      return tuned.error();
  }
}

Status JobExecutor::BlameQuarantine(const Job& job, JobError& error) {
  if (options_.tune.retry_quarantined) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const auto quarantined,
                          FindQuarantined(*records_, job.problem, place_.target, place_.environment,
                                          MatchPolicy::Default()));
  for (const auto& [candidate, failure] : quarantined) {
    if (candidate.solver.name != job.solver) continue;
    error = {"quarantined",
             fmt::format("{} was left out, because it was {} before: {} After 'attune jobs retry', "
                         "'attune tune --session NAME --retry-quarantined' tries it again.",
                         Text(candidate), Name(failure.kind), failure.message)};
    return Status::Ok();
  }
  return Status::Ok();
}

}  // namespace attune
