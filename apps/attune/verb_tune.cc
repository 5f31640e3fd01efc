// attune tune: measures the candidates of every problem that has no valid measurement yet.

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/crew_summary.h"
#include "apps/attune/device_crew.h"
#include "apps/attune/flight_lock.h"
#include "apps/attune/index_keeper.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/json_text.h"
#include "apps/attune/kernel_options.h"
#include "apps/attune/model_refit.h"
#include "apps/attune/objective_run.h"
#include "apps/attune/outcome_counts.h"
#include "apps/attune/peak_watch.h"
#include "apps/attune/prior_files.h"
#include "apps/attune/progress.h"
#include "apps/attune/pruning_options.h"
#include "apps/attune/run_summary.h"
#include "apps/attune/session/job_crew.h"
#include "apps/attune/session/job_run.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/verbs.h"
#include "apps/attune/wait_notice.h"
#include "apps/attune/winner_table.h"
#include "apps/attune/workshop.h"
#include "attune/base/steady_time.h"
#include "attune/base/usable_cores.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/compile/kernel_cache.h"
#include "attune/search/searcher.h"
#include "attune/tuner/tune_run.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

constexpr int64_t kMaxRotationBytes = int64_t{1} << 40;
constexpr int64_t kMaxIterations = 1'000'000'000;
constexpr int64_t kMaxCandidates = 1'000'000'000;

struct TuneVerbOptions {
  ProblemSelection selection;
  std::string device;              // Application::DeviceOf.
  std::vector<std::string> steps;  // For jobs of a session.
  bool stale = false;
  std::vector<std::string> prior_files;
  std::vector<PriorRecords> priors;  // From those files, once they are read.
  PruningOptions pruning;
  std::shared_ptr<const CandidateModels> models;  // That pruning asks, once they are read.
  TuneOptions tune;
  RunOptions run;
  std::string cache;  // Empty: warm, or rotating (TuneOptions::rotates_streams).
  WorkshopLimits limits;
  std::string log;  // A file; empty: no log.
  std::string objective = "time";
  std::string kernel_file;       // From --kernel.
  bool has_per_problem = false;  // From --per-problem.
  bool json = false;

  bool seeks_time() const { return objective == kTimeObjective; }
  // The measurements that choose. Without --cache the newest do, in any state of the caches.
  ChoiceQuery Choices() const {
    return {selection, cache.empty() ? std::nullopt : std::optional(tune.cache)};
  }
  ObjectiveRun OfObjective() const { return {objective, kernel_file, tune, run, json}; }
};

void PrintWinners(const std::vector<ChosenProblem>& chosen,
                  const std::vector<NetworkProblems>& networks, RunSummary summary,
                  Application& application) {
  Output& out = application.out();
  out.Print(WinnerTable(chosen).Render(out.screen(), out.width()));
  out.Print(TotalLines(TotalsOf(chosen, networks)));
  // The run includes the time for peaks, index and table.
  summary.wall_ns = application.ElapsedNs();
  out.Print(SummaryLines(summary));
  out.Flush();
  PrintTroubles(summary, application.err());
  for (const ChosenProblem& problem : chosen) PrintNotes(problem, application.err());
  PrintIfThrottled(chosen, application.err());
  if (CountOutcomes(summary).Of(ProblemOutcome::Kind::kNotReached) > 0) {
    application.err().Print(
        fmt::format("The run ended before every problem was reached.{}\n",
                    GoesOn(summary) ? " The same command goes on from here." : ""));
  }
}

// When `share` of the budget, counted from the start of the program, is over.
int64_t EndOf(const Application& application, const TuneVerbOptions& options, double share) {
  if (options.run.budget_ns == 0) return QualifyTime::kForever;
  return application.begin_ns() +
         static_cast<int64_t>(share * static_cast<double>(options.run.budget_ns));
}

// The rest of the budget, of which at least a tenth is for problems.
int64_t BudgetLeftNs(const Application& application, const TuneVerbOptions& options) {
  const int64_t budget_ns = options.run.budget_ns;
  if (budget_ns == 0) return 0;
  return std::max(EndOf(application, options, 1) - SteadyNowNs(), budget_ns / 10 + 1);
}

Result<RunSummary> RunAll(Application& application, const TuneVerbOptions& options,
                          Workshop& workshop, RecordStore& store,
                          const std::vector<TaggedProblem>& problems) {
  const OrderlyInterruption interruption;
  SteadyClock clock;
  TunerParts parts = workshop.PartsFor(store);
  parts.priors = options.priors;
  parts.models = options.models.get();
  TuneOptions tune = options.tune;
  tune.goes_on = true;
  Tuner tuner(parts, std::move(tune));
  RunOptions run = options.run;
  run.budget_ns = BudgetLeftNs(application, options);
  run.stop_requested = [&] { return interruption.requested(); };
  ProgressReporter progress(application.err(), clock);
  PeakWatch peaks(workshop, tuner, EndOf(application, options, 1));
  ATTUNE_ASSIGN_OR_RETURN(const std::string database, application.DatabasePath());
  FlightTurns turns(database, application.err());
  // Machines that share a server share no file to take turns by.
  if (!IsOnServer(database)) run.turns = &turns;
  IndexKeeper index(application.all_records(), IndexOf(database), clock, application.err());
  Result<RunSummary> summary = TuneAll(tuner, problems, run, [&](const RunProgress& state) {
    progress.Show(state);
    if (state.finished == nullptr || state.finished->kind != ProblemOutcome::Kind::kTuned) return;
    index.NoteTuned();
    peaks.Note(state.finished->report, [&] { return !interruption.requested(); });
  });
  index.Finish();
  if (summary.ok()) RefitModels(application, workshop, *summary);
  return summary;
}

// A misspelt name would leave the default alone in the race, and the problem counted as tuned.
Status CheckSolverNames(const Place& place, const std::vector<std::string>& parts_of_names) {
  const SolverList& solvers = place.backend->solvers();
  for (const std::string& part : parts_of_names) {
    const bool found = std::any_of(solvers.begin(), solvers.end(), [&](const auto& solver) {
      return solver->id().name.find(part) != std::string::npos;
    });
    if (!found) {
      return NotFound(
          fmt::format("No solver for device '{}' has '{}' in its name. 'attune solvers --device "
                      "{}' lists them.",
                      place.device_spec, Printable(part), place.device_spec));
    }
  }
  return Status::Ok();
}

// Workers compile kernels that their cache lacks, and cannot report that themselves.
void PrintIfKernelsAreNotKept(const Place& place, Output& err) {
  const SolverList& solvers = place.backend->solvers();
  const bool compiles = std::any_of(solvers.begin(), solvers.end(),
                                    [](const auto& solver) { return solver->traits().compiles; });
  if (!compiles) return;
  const OpenedKernelCache cache = OpenDefaultKernelCache();
  if (!cache.installed.ok()) {
    err.Print(fmt::format("attune tune: {}\n", Printable(cache.installed.message())));
  }
  if (cache.kept.ok()) return;
  err.Print(
      fmt::format("attune tune: Compiled kernels are not kept, so every process compiles its "
                  "own. {}\n",
                  Printable(cache.kept.message())));
}

// So long the peaks may take however small the budget is.
constexpr int64_t kShortPeaksNs = 1'000'000'000;

// `opens_ahead`: see ChildOptions.
Result<std::unique_ptr<Workshop>> OpenWorkshop(Application& application, const Place& place,
                                               const TuneVerbOptions& options, bool opens_ahead) {
  WaitNotice notice(application.err(), "tune");
  // The rest is for the problems.
  const int64_t wait_end_ns = EndOf(application, options, 0.1);
  const int64_t peaks_end_ns =
      std::max(EndOf(application, options, 0.5), application.begin_ns() + kShortPeaksNs);
  const auto go_on = [&] {
    notice.StillWaiting();
    return SteadyNowNs() < wait_end_ns;
  };
  WorkshopLimits limits = options.limits;
  limits.opens_ahead = opens_ahead;
  limits.measures_peaks = options.kernel_file.empty();  // Its operations are not known.
  return Workshop::Open(place, limits, go_on, peaks_end_ns);
}

// A table of winners for each kind of device.
Status PrintWinnersOfKinds(Application& application, const TuneVerbOptions& options,
                           const std::vector<std::string>& devices) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.store());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  ATTUNE_ASSIGN_OR_RETURN(const auto networks, SelectedNetworks(application, options.selection));
  std::vector<Target> shown;
  for (const std::string& device : devices) {
    ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlaceToMeasure(application.backends(), device));
    if (std::find(shown.begin(), shown.end(), place.target) != shown.end()) continue;
    shown.push_back(place.target);
    ATTUNE_ASSIGN_OR_RETURN(const auto chosen,
                            ChooseAll(*store, place, options.Choices(), problems));
    Output& out = application.out();
    out.Print(fmt::format("{}{}\n", shown.size() > 1 ? "\n" : "", Text(place.target)));
    out.Print(WinnerTable(chosen).Render(out.screen(), out.width()));
    out.Print(TotalLines(TotalsOf(chosen, networks)));
    out.Flush();
    PrintIfThrottled(chosen, application.err());
  }
  return Status::Ok();
}

// One process for each device that `options` mean, which end in order when this one is asked to.
Result<std::vector<CrewMember>> RunOnEveryDevice(Application& application,
                                                 const TuneVerbOptions& options,
                                                 const std::vector<std::string>& devices,
                                                 const OrderlyInterruption& interruption) {
  ATTUNE_ASSIGN_OR_RETURN(auto arguments, ArgumentsForEachDevice());
  // Stale jobs are requeued once, before.
  std::erase_if(arguments, [](const std::string& word) { return word.starts_with("--stale"); });
  if (options.limits.compile_jobs == 0) {
    const size_t share = static_cast<size_t>(UsableCores()) / devices.size();
    arguments.push_back(fmt::format("--compile-jobs={}", std::max<size_t>(share, 1)));
  }
  return RunCrew(devices, arguments, application.err(), [&] { return interruption.requested(); });
}

// On one list: each process skips the problems that another one tunes.
Result<int> TuneOnEveryDevice(Application& application, const TuneVerbOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto devices,
                          UsableDevices(application.backends().list, options.device));
  const OrderlyInterruption interruption;
  ATTUNE_ASSIGN_OR_RETURN(const auto members,
                          RunOnEveryDevice(application, options, devices, interruption));
  CrewSummary summary = Summarize(members);
  summary.wall_ns = application.ElapsedNs();
  Output& out = application.out();
  if (options.json) {
    out.Print(Dump(ToJson(summary)));
    return ExitStatusOf(CountOutcomes(summary));
  }
  ATTUNE_RETURN_IF_ERROR(PrintWinnersOfKinds(application, options, devices));
  out.Print(SummaryText(summary, out.screen(), out.width()));
  return ExitStatusOf(CountOutcomes(summary));
}

// --step and --stale are about the jobs of a session, all of them.
Status CheckJobOptions(const TuneVerbOptions& options) {
  for (const std::string& step : options.steps) ATTUNE_RETURN_IF_ERROR(ParseJobStep(step).status());
  const ProblemSelection& selection = options.selection;
  const bool is_whole = !selection.session.empty() && selection.tag.empty() &&
                        selection.model.empty() && selection.problems.empty();
  if ((options.steps.empty() && !options.stale) || is_whole) return Status::Ok();
  return InvalidArgument(
      "--step and --stale are about the jobs of a session: give --session, and no problems beside "
      "it.");
}

// True if the run does jobs of a session: it has some, or gets some by --stale, and no problems are
// named.
Result<bool> IsOfJobs(Application& application, const TuneVerbOptions& options) {
  const ProblemSelection& selection = options.selection;
  const bool names_problems =
      !selection.tag.empty() || !selection.model.empty() || !selection.problems.empty();
  if (selection.session.empty() || names_problems) return false;
  ATTUNE_RETURN_IF_ERROR(application.store().status());
  const bool has_jobs = application.session()->job_count > 0;
  if (!has_jobs && !options.steps.empty() && !options.stale) {
    return FailedPrecondition(
        fmt::format("Session '{}' has no jobs. 'attune jobs load --session {} --tag TAG --steps "
                    "perf:compile,perf:measure' queues some.",
                    Printable(selection.session), ShellWord(selection.session)));
  }
  if (!has_jobs && !options.stale) return false;
  if (!has_jobs) ATTUNE_RETURN_IF_ERROR(application.ProblemsOfSession().status());
  if (!options.tune.solver_filter.empty() || options.run.retune || !options.prior_files.empty() ||
      options.tune.max_candidates > 0 || !options.tune.prune.none()) {
    return InvalidArgument(
        "The jobs of a session say which solvers are measured, and when again: --solver, --retune, "
        "--prune, --top, --prior and --candidates do not go with them. 'attune jobs load "
        "--solvers' "
        "and 'attune jobs retry' do.");
  }
  return true;
}

// The place for the jobs of a session, with the parts to measure if the device is here.
struct JobPlace {
  SessionPlace place;
  std::unique_ptr<Workshop> workshop;
};

// Work that only compiles is bound to the architecture alone, and needs no turn at the device.
Result<JobPlace> OpenJobPlace(Application& application, const TuneVerbOptions& options,
                              bool measures) {
  JobPlace opened;
  if (measures) (void)application.backends();  // Before one of them is loaded alone.
  ATTUNE_ASSIGN_OR_RETURN(opened.place, FindSessionPlace(application, *application.session()));
  const bool has_device = opened.place.has_device() || !options.device.empty();
  if (!has_device || !measures) return opened;
  const std::string& device = options.device.empty() ? opened.place.device_spec : options.device;
  ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlaceToMeasure(application.backends(), device));
  opened.place = SessionPlaceAt(place);
  ATTUNE_RETURN_IF_ERROR(EnterSession(application, *application.session(), opened.place));
  ATTUNE_ASSIGN_OR_RETURN(opened.workshop, OpenWorkshop(application, place, options, true));
  application.err().Print(MissingText(*opened.workshop));
  return opened;
}

// Each process takes free jobs from one queue. Jobs that a failed process leaves are done by the
// others, in another round, unless the run has a budget, which is over by then.
Result<JobCrewSummary> RunJobCrew(Application& application, const TuneVerbOptions& options,
                                  const std::vector<JobStep>& steps) {
  ATTUNE_ASSIGN_OR_RETURN(auto devices, UsableDevices(application.backends().list, options.device));
  const OrderlyInterruption interruption;
  std::vector<CrewMember> members;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(auto round,
                            RunOnEveryDevice(application, options, devices, interruption));
    std::move(round.begin(), round.end(), std::back_inserter(members));
    JobCrewSummary summary = SummarizeJobs(members);
    const Result<OpenJobs> open = CountOpen(application, steps);
    if (!open.ok()) {
      summary.all.failure = open.status();
      return summary;
    }
    summary.all.open = *open;
    summary.all.was_interrupted = interruption.requested();
    const std::vector<std::string> sound = DevicesToGoOnWith(summary);
    const bool can_go_on = open->left > 0 && sound.size() < devices.size() && !sound.empty();
    if (!can_go_on || options.run.budget_ns > 0 || interruption.requested()) return summary;
    devices = sound;
  }
}

Result<int> TuneJobsOnEveryDevice(Application& application, const TuneVerbOptions& options,
                                  const std::vector<JobStep>& steps) {
  StaleQueue queued;
  if (options.stale) {
    ATTUNE_ASSIGN_OR_RETURN(queued, QueueStaleForCrew(application, steps));
  }
  JobCrewSummary summary;
  if (application.session()->job_count + queued.added > 0) {
    ATTUNE_ASSIGN_OR_RETURN(summary, RunJobCrew(application, options, steps));
  } else {
    // Processes of a session without jobs would tune its problems without them.
    summary.is_in_vain = false;
    summary.all.open.emplace();
  }
  summary.all.queued = queued;
  Output& out = application.out();
  out.Print(options.json ? Dump(ToJson(summary)) : Text(summary, out.screen(), out.width()));
  out.Flush();
  ATTUNE_RETURN_IF_ERROR(application.CheckDatabaseIsKept());
  ATTUNE_RETURN_IF_ERROR(summary.all.failure);
  return ExitStatusOf(summary);
}

Result<int> TuneJobs(Application& application, const TuneVerbOptions& options,
                     const std::vector<JobStep>& steps) {
  const bool measures =
      steps.empty() || std::any_of(steps.begin(), steps.end(), [](const JobStep& step) {
        return step.work == JobWork::kMeasure;
      });
  ATTUNE_ASSIGN_OR_RETURN(const JobPlace opened, OpenJobPlace(application, options, measures));
  const OrderlyInterruption interruption;
  JobRunOptions run;
  run.steps = steps;
  run.stale = options.stale;
  run.terms.tune = options.tune;
  if (options.run.budget_ns > 0) run.terms.end_ns = EndOf(application, options, 1);
  run.terms.stop_requested = [&] { return interruption.requested(); };
  run.terms.log = options.limits.log;
  // More threads than cores are never started, and the summary says how many compiled.
  run.terms.compile_threads = options.limits.compile_jobs > 0
                                  ? std::min(options.limits.compile_jobs, UsableCores())
                                  : UsableCores();
  ATTUNE_ASSIGN_OR_RETURN(const JobRunSummary summary,
                          RunJobs(application, opened.place, opened.workshop.get(), run));
  application.out().Print(options.json ? Dump(ToJson(summary)) : Text(summary));
  application.out().Flush();
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, summary.troubles.size()); ++i) {
    application.err().Print(fmt::format("failed: {}\n", Printable(summary.troubles[i])));
  }
  // By name, before the failure that this was: a database that is gone fails in many ways.
  ATTUNE_RETURN_IF_ERROR(application.CheckDatabaseIsKept());
  ATTUNE_RETURN_IF_ERROR(summary.failure);
  return ExitStatusOf(summary);
}

Result<int> RunJobSteps(Application& application, const TuneVerbOptions& options) {
  std::vector<JobStep> steps;
  for (const std::string& step : options.steps) {
    ATTUNE_ASSIGN_OR_RETURN(steps.emplace_back(), ParseJobStep(step));
  }
  return MeansEveryDevice(options.device) ? TuneJobsOnEveryDevice(application, options, steps)
                                          : TuneJobs(application, options, steps);
}

Result<int> RunTune(Application& application, TuneVerbOptions options) {
  options.tune.cache = options.tune.terms.rotation_bytes > 0
                           ? CacheState::kRotating
                           : ParseCacheState(options.cache).value_or(CacheState::kWarm);
  options.tune.rotates_streams = options.cache.empty();
  if (!options.kernel_file.empty() && options.run.budget_ns > 0 && !options.has_per_problem) {
    options.tune.per_problem_ns =
        ShareOfBudget(options.run.budget_ns, options.selection.problems.size());
  }
  ATTUNE_RETURN_IF_ERROR(
      CheckPriors(options.prior_files, options.tune.searcher, options.seeks_time()));
  ATTUNE_RETURN_IF_ERROR(Check(options.pruning));
  options.tune.prune = TermsOf(options.pruning);
  ATTUNE_RETURN_IF_ERROR(CheckJobOptions(options));
  ATTUNE_ASSIGN_OR_RETURN(const auto log, CompilerLog::Open(options.log));
  options.limits.log = log.get();
  if (!options.seeks_time()) {
    ATTUNE_RETURN_IF_ERROR(CheckObjective(application, options.OfObjective(), options.device));
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool has_jobs, IsOfJobs(application, options));
  if (has_jobs) return RunJobSteps(application, options);
  if (MeansEveryDevice(options.device)) return TuneOnEveryDevice(application, options);
  if (!options.selection.session.empty()) ATTUNE_RETURN_IF_ERROR(application.store().status());
  const LoadedBackends& backends = application.backends();  // Before one is loaded alone.
  // Entering a session checks whether it is measured on the named device.
  if (options.device.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(options.device, application.DeviceOf(options.device));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlaceToMeasure(backends, options.device));
  ATTUNE_RETURN_IF_ERROR(CheckSolverNames(place, options.tune.solver_filter));
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.store());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  ATTUNE_RETURN_IF_ERROR(CheckOwnKernels(place, problems));
  ATTUNE_ASSIGN_OR_RETURN(options.priors,
                          ReadPriors(options.prior_files, place, problems, application.err()));
  ATTUNE_ASSIGN_OR_RETURN(CandidateModels models,
                          ReadModels(application, options.pruning, place, problems));
  options.models = std::make_shared<const CandidateModels>(std::move(models));
  if (application.session()) {
    const SessionPlace measured = SessionPlaceAt(place);
    ATTUNE_RETURN_IF_ERROR(EnterSession(application, *application.session(), measured));
    ATTUNE_RETURN_IF_ERROR(
        SurveySolvers(application, *application.session(), measured, problems).status());
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto workshop,
                          OpenWorkshop(application, place, options, problems.size() > 1));
  application.err().Print(MissingText(*workshop));
  PrintIfKernelsAreNotKept(place, application.err());
  if (!options.seeks_time()) {
    return TuneForObjective(application, *workshop, place, options.OfObjective(), problems);
  }
  ATTUNE_ASSIGN_OR_RETURN(RunSummary summary,
                          RunAll(application, options, *workshop, *store, problems));
  if (options.json) {
    summary.wall_ns = application.ElapsedNs();
    application.out().Print(Dump(SummaryJson(summary, workshop->peaks())));
    PrintInVain(summary, application.err());
    ATTUNE_RETURN_IF_ERROR(application.CheckDatabaseIsKept());
    return ExitStatusOf(CountOutcomes(summary));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto chosen, ChooseAll(*store, place, options.Choices(), problems));
  ATTUNE_ASSIGN_OR_RETURN(const auto networks, SelectedNetworks(application, options.selection));
  PrintWinners(chosen, networks, summary, application);
  PrintIfUnsteady(summary, application.err());
  PrintInVain(summary, application.err());
  ATTUNE_RETURN_IF_ERROR(application.CheckDatabaseIsKept());
  return ExitStatusOf(CountOutcomes(summary));
}

void AddJobOptions(CLI::App& verb, TuneVerbOptions& options) {
  verb.add_option("--step", options.steps,
                  "Of a session's jobs only those of this step, as perf:compile; may be repeated")
      ->allow_extra_args(false)
      ->type_name("STEP");
  verb.add_flag("--stale", options.stale,
                "First queue what is outdated or new: a session's jobs whose solver has changed "
                "since, and its problems that have none, with the steps and solvers of the others");
}

void AddSearchOptions(CLI::App& verb, TuneVerbOptions& options) {
  const std::vector<std::string_view> names = SearcherNames();
  verb.add_option("--search", options.tune.searcher,
                  "How large spaces are searched; adaptive: near the default first, then by trees")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())))
      ->capture_default_str();
  verb.add_option(
          "--prior", options.prior_files,
          "Begin the search of large spaces with what is fast in FILE: a database of attune "
          "with other devices or sizes, or, of a kernel, T4 or a cache of Kernel Tuner; may "
          "be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  AddPruningOptions(verb, options.pruning);
  AddSeedOption(verb, options.tune.seed, "Seed of data, order and search");
}

void AddTuneOptions(CLI::App& verb, TuneVerbOptions& options, Invocation& invocation) {
  CLI::Option_group* group = AddSelectionOptions(verb, options.selection, invocation);
  verb.add_option("--device", options.device,
                  "Where candidates run, as 'attune devices' lists it; BACKEND:all is all devices "
                  "of that backend, at the same time")
      ->default_str("cpu, or that of the session");
  AddKernelFileOptions(verb, *group, options.selection.problems, options.device,
                       options.kernel_file);
  verb.add_option("--objective", options.objective,
                  "With --kernel: time, energy (joules of a launch), a figure that the kernel file "
                  "names, or two of them, as time,energy: then the front of both is sought")
      ->capture_default_str()
      ->type_name("NAMES");
  AddDurationOption(verb, "--budget", options.run.budget_ns,
                    "Time for the whole run. A problem that was begun is finished, which takes "
                    "--per-problem, unless its reference would take longer, or nothing of it is "
                    "built by then (default: 0, no limit)");
  AddDurationOption(verb, "--per-problem", options.tune.per_problem_ns,
                    "Time for each problem (default: 2s, with --kernel and --budget equal shares "
                    "of the budget); 0: the least that one comparison takes. "
                    "What had less before is measured again. Of a session's jobs those fail that "
                    "it is too short for; 'attune jobs retry' queues them again")
      ->each([&options](const std::string&) { options.has_per_problem = true; });
  verb.add_option("--candidates", options.tune.max_candidates,
                  "Candidates that are tried at most for each problem, the defaults in any case, "
                  "those of a run that was cut off included (default: as many as there is time "
                  "for). What had fewer before is measured again")
      ->check(CLI::Range(int64_t{1}, kMaxCandidates))
      ->type_name("N");
  AddSearchOptions(verb, options);
  CLI::Option* cache =
      verb.add_option("--cache", options.cache,
                      "Caches hold operands (warm), or are displaced before each launch (cold). "
                      "Default: warm; on a GPU rotating where memory limits the speed")
          ->check(CLI::IsMember({"warm", "cold"}));
  verb.add_option(
          "--rotating-buffer", options.tune.terms.rotation_bytes,
          "Launches step through copies of the operands that exceed this together, as 64MiB, or "
          "through 4096 or as many as fit into memory: neither warm nor cold")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(int64_t{1}, kMaxRotationBytes))
      ->type_name("SIZE")
      ->excludes(cache);
  verb.add_option("--max-iterations", options.tune.limits.max_launches,
                  "Timed launches of one candidate at most, in the race and again in the final "
                  "(default: no limit)")
      ->check(CLI::Range(int64_t{1}, kMaxIterations))
      ->type_name("N");
  verb.add_option("--solver", options.tune.solver_filter,
                  "Only solvers whose name contains this; may be repeated")
      ->allow_extra_args(false);
  verb.add_flag("--retune", options.run.retune,
                "Measure again what is tuned already, first what was measured longest ago");
  verb.add_flag("--retry-quarantined", options.tune.retry_quarantined,
                "Try again what crashed, hung or corrupted memory before");
  AddLimitOptions(verb, options.limits);
  verb.add_option("--compile-jobs", options.limits.compile_jobs,
                  "Candidates compiled at once for GPUs (default: one for each core)")
      ->check(CLI::Range(1, 1024));
  verb.add_option("--log", options.log, "Append the output of compilers and candidates to FILE")
      ->type_name("FILE");
  AddJsonFlag(verb, options.json);
}

}  // namespace

void AddTuneVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<TuneVerbOptions>();
  CLI::App* verb = AddVerb(
      program, "tune",
      "Find the fastest candidate for each problem. The same command resumes an interrupted run",
      "  attune tune --tag resnet50 --budget 3m\n"
      "  attune tune --problem 'gemm@1{m=512,n=512,k=512}' --per-problem 5s\n"
      "  attune tune --tag resnet50 --device opencl:0 --solver opencl --search random --seed 7\n"
      "  attune tune --tag resnet50 --device cuda:all\n"
      "  attune tune --kernel examples/own_kernel/matmul.json --size m=512,n=512,k=256 --device "
      "opencl:0\n"
      "  attune tune --session may --step perf:compile\n"
      "  attune tune --session may --stale\n\n"
      "Exit status: 0 if every problem that a solver computes is tuned, 3 if some failed or were "
      "not reached,\n1 if none could be tuned.");
  AddTuneOptions(*verb, *options, invocation);
  AddJobOptions(*verb, *options);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunTune(application, *options); };
  });
}

}  // namespace attune
