// attune tune: measures the candidates of every problem that has no valid measurement yet.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/crew_summary.h"
#include "apps/attune/device_crew.h"
#include "apps/attune/duration.h"
#include "apps/attune/flight_lock.h"
#include "apps/attune/index_keeper.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/outcome_counts.h"
#include "apps/attune/progress.h"
#include "apps/attune/verbs.h"
#include "apps/attune/wait_notice.h"
#include "apps/attune/winner_table.h"
#include "apps/attune/workshop.h"
#include "attune/base/steady_time.h"
#include "attune/base/usable_cores.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/compile/kernel_cache.h"
#include "attune/index/index_writer.h"
#include "attune/search/searcher.h"
#include "attune/tuner/tune_run.h"

namespace attune {
namespace {

constexpr int64_t kMaxRotationBytes = int64_t{1} << 40;
constexpr int64_t kMaxIterations = 1'000'000'000;
constexpr int64_t kWorthSayingNs = 1'000'000'000;

struct TuneVerbOptions {
  ProblemSelection selection;
  std::string device = "cpu";
  TuneOptions tune;
  RunOptions run;
  std::string cache = "warm";
  WorkshopLimits limits;
  bool json = false;
};

using Kind = ProblemOutcome::Kind;

int64_t WaitedNs(const RunSummary& summary) {
  int64_t waited_ns = 0;
  for (const ProblemOutcome& outcome : summary.outcomes) waited_ns += outcome.report.waited_ns;
  return waited_ns;
}

Json OutcomeJson(const ProblemOutcome& outcome, const Peaks& peaks) {
  Json json = {{"problem", Text(outcome.problem)},
               {"outcome", Name(outcome.kind)},
               {"message", outcome.message}};
  if (outcome.kind != Kind::kTuned) return json;
  const TuneReport& report = outcome.report;
  json["set_id"] = report.set_id;
  json["choice"] = report.choice ? ToJson(*report.choice) : Json(nullptr);
  json["roofline_note"] =
      report.choice ? RooflineNote(outcome.problem, report.choice->roofline_fraction, peaks) : "";
  json["considered"] = report.considered;
  json["qualified"] = report.qualified;
  json["timed"] = report.timed;
  json["quarantined"] = report.quarantined;
  json["failures"] = Json::object();
  for (const auto& [kind, count] : report.failures) {
    json["failures"][std::string(Name(kind))] = count;
  }
  json["wall_ns"] = report.wall_ns;
  json["busy_ns"] = report.busy_ns;
  json["waited_ns"] = report.waited_ns;
  json["is_steady"] = report.is_steady;
  json["throttled"] = report.held_back_by;
  json["stop_reason"] = report.stop_reason;
  json["notes"] = report.notes;
  return json;
}

Json SummaryJson(const RunSummary& summary, const Peaks& peaks) {
  const OutcomeCounts counts = CountOutcomes(summary);
  Json json;
  for (const Kind kind : OutcomeCounts::kKinds) json[std::string(Name(kind))] = counts.Of(kind);
  json["wall_ns"] = summary.wall_ns;
  json["busy_ns"] = summary.busy_ns;
  json["waited_ns"] = WaitedNs(summary);
  json["useful_share"] = BusyShare(summary.busy_ns, summary.wall_ns);
  json["problems"] = Json::array();
  for (const ProblemOutcome& outcome : summary.outcomes) {
    json["problems"].push_back(OutcomeJson(outcome, peaks));
  }
  return json;
}

// What went wrong, one line each, bounded: a run of thousands may fail for one reason.
void PrintTroubles(const RunSummary& summary, Output& err) {
  constexpr int kShown = 20;
  for (const Kind kind : {Kind::kFailed, Kind::kUnsupported, Kind::kNotReached}) {
    int shown = 0;
    for (const ProblemOutcome& outcome : summary.outcomes) {
      const bool is_silent = kind == Kind::kNotReached && outcome.message.empty();
      if (outcome.kind != kind || is_silent || ++shown > kShown) continue;
      err.Print(fmt::format("{}: {}: {}\n", Name(kind), Text(outcome.problem),
                            Printable(outcome.message)));
    }
    if (shown > kShown) err.Print(fmt::format("... and {} more.\n", shown - kShown));
  }
}

// The times of problems on which the machine, or a tiny --per-problem, left no trust.
void PrintIfUnsteady(const RunSummary& summary, Output& err) {
  const auto count =
      std::count_if(summary.outcomes.begin(), summary.outcomes.end(),
                    [](const ProblemOutcome& outcome) { return !outcome.report.is_steady; });
  if (count == 0) return;
  err.Print(fmt::format(
      "attune tune: The machine seems busy: the default or the winner of {} of {} problems tuned "
      "has an interval wider than ±{:.0f} %. With --retune, on an idle machine or with a longer "
      "--per-problem, they are measured again.\n",
      count, CountOutcomes(summary).Of(Kind::kTuned), 100 * kMostSteadySpread));
}

std::string CandidateLine(const RunSummary& summary) {
  int64_t considered = 0;
  int64_t quarantined = 0;
  std::map<FailureKind, int64_t> failures;
  for (const ProblemOutcome& outcome : summary.outcomes) {
    considered += outcome.report.considered;
    quarantined += outcome.report.quarantined;
    for (const auto& [kind, count] : outcome.report.failures) failures[kind] += count;
  }
  if (considered == 0) return "";
  std::string text = fmt::format("{} candidates tried", considered);
  for (const auto& [kind, count] : failures) text += fmt::format(", {} {}", count, Name(kind));
  if (quarantined > 0) {
    text += fmt::format(
        ", {} left out because they crashed or hung before "
        "(--retry-quarantined tries them again)",
        quarantined);
  }
  return text + ".\n";
}

// Problems that were tuned before, in less time.
std::string AgainLine(const RunSummary& summary) {
  const auto again = std::count_if(
      summary.outcomes.begin(), summary.outcomes.end(), [](const ProblemOutcome& outcome) {
        return outcome.kind == Kind::kTuned && !outcome.message.empty();
      });
  if (again == 0) return "";
  return fmt::format("Measured again, because they had less time before: {}.\n", again);
}

// Problems that were measured again, and whose earlier evidence is better.
std::string KeptLine(const RunSummary& summary) {
  const auto kept = std::count_if(
      summary.outcomes.begin(), summary.outcomes.end(), [](const ProblemOutcome& outcome) {
        const TuneReport& report = outcome.report;
        return report.choice.has_value() && report.choice->set_id != report.set_id;
      });
  if (kept == 0) return "";
  return fmt::format(
      "{} of them keep what was measured before: the new evidence is worse. A longer --per-problem "
      "makes it better.\n",
      kept);
}

std::string SummaryLines(const RunSummary& summary) {
  const OutcomeCounts counts = CountOutcomes(summary);
  std::string text = fmt::format("\n{} in {}", Text(counts), FormatWait(summary.wall_ns));
  if (counts.Of(Kind::kTuned) > 0) {
    text += fmt::format(", {:.0f}% of it building, verifying or measuring candidates",
                        100 * BusyShare(summary.busy_ns, summary.wall_ns));
  }
  if (const int64_t waited_ns = WaitedNs(summary); waited_ns >= kWorthSayingNs) {
    text += fmt::format(", {} of it waiting for others to measure", FormatWait(waited_ns));
  }
  return text + ".\n" + AgainLine(summary) + KeptLine(summary) + CandidateLine(summary);
}

// Whether another run gets further than this one: it would begin with what exceeds a run, too, and
// go on behind that only if something is tuned by now.
bool GoesOn(const RunSummary& summary) {
  const auto is_open = [](const ProblemOutcome& outcome) {
    return outcome.kind == Kind::kNotReached && !outcome.exceeds_run;
  };
  const auto& outcomes = summary.outcomes;
  const bool is_blocked = std::any_of(outcomes.begin(), outcomes.end(),
                                      [](const auto& outcome) { return outcome.exceeds_run; });
  return std::any_of(outcomes.begin(), outcomes.end(), is_open) &&
         (!is_blocked || CountOutcomes(summary).Of(Kind::kTuned) > 0);
}

void PrintWinners(const std::vector<ChosenProblem>& chosen, RunSummary summary,
                  Application& application) {
  Output& out = application.out();
  out.Print(WinnerTable(chosen).Render(out.screen(), out.width()));
  out.Print(NetworkLine(chosen));
  // Peaks, index and table are part of what the run took.
  summary.wall_ns = application.ElapsedNs();
  out.Print(SummaryLines(summary));
  out.Flush();
  PrintTroubles(summary, application.err());
  for (const ChosenProblem& problem : chosen) PrintNotes(problem, application.err());
  PrintIfThrottled(chosen, application.err());
  if (CountOutcomes(summary).Of(Kind::kNotReached) > 0) {
    application.err().Print(
        fmt::format("The run ended before every problem was reached.{}\n",
                    GoesOn(summary) ? " The same command goes on from here." : ""));
  }
}

// Said with --json too, because the exit status alone does not explain itself.
void PrintInVain(const RunSummary& summary, Output& err) {
  const OutcomeCounts counts = CountOutcomes(summary);
  if (!counts.IsInVain()) return;
  err.Print(
      fmt::format("attune tune: None of {} problems could be tuned: {} unsupported, {} failed.\n",
                  counts.all(), counts.Of(Kind::kUnsupported), counts.Of(Kind::kFailed)));
}

// A candidate above the peak of arithmetic proves that the peak was measured under load: it is
// measured again, between two problems, and the highest counts from then on.
class PeakWatch {
 public:
  // Until `end_ns` of the steady clock.
  PeakWatch(Workshop& workshop, Tuner& tuner, int64_t end_ns)
      : workshop_(workshop), tuner_(tuner), end_ns_(end_ns) {}

  void Note(const TuneReport& report, const std::function<bool()>& go_on) {
    if (!report.choice || attempts_ == kMostAttempts) return;
    const Choice& choice = *report.choice;
    const Peaks& peaks = workshop_.peaks();
    if (!IsBoundByArithmetic(choice.problem, peaks) || RooflineFraction(choice, peaks) <= 1) return;
    ++attempts_;
    workshop_.RaisePeaks(go_on, end_ns_);
    tuner_.SetPeaks(workshop_.peaks());
  }

 private:
  // Half a second each; a machine that is always busy has no peak to be found.
  static constexpr int kMostAttempts = 5;

  Workshop& workshop_;
  Tuner& tuner_;
  const int64_t end_ns_;
  int attempts_ = 0;
};

// When `share` of the budget, counted from the start of the program, is over.
int64_t EndOf(const Application& application, const TuneVerbOptions& options, double share) {
  if (options.run.budget_ns == 0) return QualifyTime::kForever;
  return application.begin_ns() +
         static_cast<int64_t>(share * static_cast<double>(options.run.budget_ns));
}

// What is left of the budget; whatever came before, a tenth is for problems.
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
  Tuner tuner(workshop.PartsFor(store), options.tune);
  RunOptions run = options.run;
  run.budget_ns = BudgetLeftNs(application, options);
  run.stop_requested = [&] { return interruption.requested(); };
  ProgressReporter progress(application.err(), clock);
  PeakWatch peaks(workshop, tuner, EndOf(application, options, 1));
  ATTUNE_ASSIGN_OR_RETURN(const std::string database, application.DatabasePath());
  FlightTurns turns(database, application.err());
  run.turns = &turns;
  IndexKeeper index(store, IndexPathOf(database), clock, application.err());
  Result<RunSummary> summary = TuneAll(tuner, problems, run, [&](const RunProgress& state) {
    progress.Show(state);
    if (state.finished == nullptr || state.finished->kind != Kind::kTuned) return;
    index.NoteTuned();
    peaks.Note(state.finished->report, [&] { return !interruption.requested(); });
  });
  index.Finish();
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

// Children compile what their cache does not hold, and cannot say so themselves.
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

void PrintIfThereAreNoPeaks(const Workshop& workshop, Output& err) {
  if (workshop.peaks_status().ok()) return;
  err.Print(
      fmt::format("attune tune: The peaks of the device could not be measured, so no winner has a "
                  "fraction of the roofline. {}\n",
                  Printable(workshop.peaks_status().message())));
}

void PrintIfThereAreNoTurns(const Workshop& workshop, Output& err) {
  if (workshop.turns_status().ok()) return;
  err.Print(fmt::format(
      "attune tune: Processes cannot take turns at measuring, so that others may disturb "
      "this one. {}\n",
      Printable(workshop.turns_status().message())));
}

// So long the peaks may take however small the budget is.
constexpr int64_t kShortPeaksNs = 1'000'000'000;

Result<std::unique_ptr<Workshop>> OpenWorkshop(Application& application, const Place& place,
                                               const TuneVerbOptions& options) {
  WaitNotice notice(application.err(), "tune");
  // The rest is for the problems.
  const int64_t wait_end_ns = EndOf(application, options, 0.1);
  const int64_t peaks_end_ns =
      std::max(EndOf(application, options, 0.5), application.begin_ns() + kShortPeaksNs);
  const auto go_on = [&] {
    notice.StillWaiting();
    return SteadyNowNs() < wait_end_ns;
  };
  return Workshop::Open(place, options.limits, go_on, peaks_end_ns);
}

// A table of winners for each kind of device.
Status PrintWinnersOfKinds(Application& application, const TuneVerbOptions& options,
                           const std::vector<std::string>& devices) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.store());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  std::vector<Target> shown;
  for (const std::string& device : devices) {
    ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlaceToMeasure(application.backends(), device));
    if (std::find(shown.begin(), shown.end(), place.target) != shown.end()) continue;
    shown.push_back(place.target);
    ATTUNE_ASSIGN_OR_RETURN(
        const auto chosen,
        ChooseAll(*store, place, {options.selection, options.tune.cache}, problems));
    Output& out = application.out();
    out.Print(fmt::format("{}{}\n", shown.size() > 1 ? "\n" : "", Text(place.target)));
    out.Print(WinnerTable(chosen).Render(out.screen(), out.width()));
    out.Print(NetworkLine(chosen));
    out.Flush();
    PrintIfThrottled(chosen, application.err());
  }
  return Status::Ok();
}

// One process for each of them, on one list: what another one tunes is left to it.
Result<int> TuneOnEveryDevice(Application& application, const TuneVerbOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto devices,
                          UsableDevices(application.backends().list, options.device));
  ATTUNE_ASSIGN_OR_RETURN(auto arguments, ArgumentsForEachDevice());
  if (options.limits.compile_jobs == 0) {
    const size_t share = static_cast<size_t>(UsableCores()) / devices.size();
    arguments.push_back(fmt::format("--compile-jobs={}", std::max<size_t>(share, 1)));
  }
  const OrderlyInterruption interruption;
  ATTUNE_ASSIGN_OR_RETURN(
      const std::vector<CrewMember> members,
      RunCrew(devices, arguments, application.err(), [&] { return interruption.requested(); }));
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

Result<int> RunTune(Application& application, TuneVerbOptions options) {
  options.tune.cache = options.tune.terms.rotation_bytes > 0
                           ? CacheState::kRotating
                           : ParseCacheState(options.cache).value_or(CacheState::kWarm);
  if (MeansEveryDevice(options.device)) return TuneOnEveryDevice(application, options);
  ATTUNE_ASSIGN_OR_RETURN(const Place place,
                          FindPlaceToMeasure(application.backends(), options.device));
  ATTUNE_RETURN_IF_ERROR(CheckSolverNames(place, options.tune.solver_filter));
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.store());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  ATTUNE_ASSIGN_OR_RETURN(const auto workshop, OpenWorkshop(application, place, options));
  PrintIfThereAreNoPeaks(*workshop, application.err());
  PrintIfThereAreNoTurns(*workshop, application.err());
  PrintIfKernelsAreNotKept(place, application.err());
  ATTUNE_ASSIGN_OR_RETURN(RunSummary summary,
                          RunAll(application, options, *workshop, *store, problems));
  if (options.json) {
    summary.wall_ns = application.ElapsedNs();
    application.out().Print(Dump(SummaryJson(summary, workshop->peaks())));
    PrintInVain(summary, application.err());
    ATTUNE_RETURN_IF_ERROR(application.CheckDatabaseIsKept());
    return ExitStatusOf(CountOutcomes(summary));
  }
  ATTUNE_ASSIGN_OR_RETURN(
      const auto chosen,
      ChooseAll(*store, place, {options.selection, options.tune.cache}, problems));
  PrintWinners(chosen, summary, application);
  PrintIfUnsteady(summary, application.err());
  PrintInVain(summary, application.err());
  ATTUNE_RETURN_IF_ERROR(application.CheckDatabaseIsKept());
  return ExitStatusOf(CountOutcomes(summary));
}

void AddTuneOptions(CLI::App& verb, TuneVerbOptions& options) {
  AddSelectionOptions(verb, options.selection);
  verb.add_option("--device", options.device,
                  "Where candidates run, as 'attune devices' lists it; BACKEND:all is every device "
                  "of one, at the same time")
      ->capture_default_str();
  AddDurationOption(verb, "--budget", options.run.budget_ns,
                    "Time for the whole run. A problem that was begun is finished, which takes "
                    "--per-problem, unless its reference would take longer, or nothing of it is "
                    "built by then (default: 0, no limit)");
  AddDurationOption(verb, "--per-problem", options.tune.per_problem_ns,
                    "Time for each problem (default: 2s); 0: the least that one comparison takes. "
                    "What had less before is measured again");
  std::vector<std::string> searchers;
  for (const std::string_view name : SearcherNames()) searchers.emplace_back(name);
  verb.add_option("--search", options.tune.searcher, "How large spaces are searched")
      ->check(CLI::IsMember(searchers))
      ->capture_default_str();
  AddSeedOption(verb, options.tune.seed, "Seed of data, order and search");
  CLI::Option* cache =
      verb.add_option("--cache", options.cache,
                      "Caches hold the operands (warm), or are displaced before each launch (cold)")
          ->check(CLI::IsMember({"warm", "cold"}))
          ->capture_default_str();
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
  verb.add_option(
          "--compile-jobs", options.limits.compile_jobs,
          "Candidates that are compiled at once for a GPU, ahead of the one process that has "
          "it (default: one for each core, shared by all devices)")
      ->check(CLI::Range(1, 1024));
  AddJsonFlag(verb, options.json);
}

}  // namespace

void AddTuneVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<TuneVerbOptions>();
  CLI::App* verb = AddVerb(
      program, "tune",
      "Find the fastest candidate of each problem. What is tuned already is kept, unless it had "
      "less time; an interrupted run goes on with the same command",
      "  attune tune --tag resnet50 --budget 3m\n"
      "  attune tune --problem 'gemm@1{m=512,n=512,k=512}' --per-problem 5s\n"
      "  attune tune --tag resnet50 --device opencl:0 --solver opencl --search random --seed 7\n"
      "  attune tune --tag resnet50 --device cuda:all\n\n"
      "Exit status: 0 if every problem that a solver computes is tuned, 3 if some failed or were "
      "not "
      "reached,\n1 if none could be tuned.");
  AddTuneOptions(*verb, *options);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunTune(application, *options); };
  });
}

}  // namespace attune
