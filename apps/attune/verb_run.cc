// attune run: verifies and times one candidate, in a child process.

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/choices.h"
#include "apps/attune/counted_call.h"
#include "apps/attune/duration.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/verbs.h"
#include "apps/attune/wait_notice.h"
#include "apps/attune/workshop.h"
#include "attune/measure/statistics.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

struct RunVerbOptions {
  std::string problem;
  std::string candidate;  // Empty: the best one.
  std::string device = "cpu";
  std::string cache = "warm";
  int64_t time_ns = 1'000'000'000;
  uint64_t seed = 1;
  std::vector<std::string> counters;  // By the vendor's names; empty: nothing is counted.
  WorkshopLimits limits;
  bool json = false;
};

// The result of running one candidate.
struct Outcome {
  Trial trial;  // kScreen with a measurement, or a failure.
  double roofline_fraction = 0;
  std::string roofline_note;
  std::string turn_note;  // Why others may have measured at the same time; else empty.
  // With --counters: for each kernel its values, or why there are none.
  std::vector<std::vector<double>> counted;
  std::string no_counters;
};

constexpr double kConfidence = 0.99;
constexpr double kBlockTargetNs = 2e6;  // Long enough that reading the clock does not matter.
constexpr int kMaxLaunches = 10'000;

std::string SolverNames(const SolverList& solvers) {
  std::string names;
  for (const auto& solver : solvers) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", Text(solver->id()));
  }
  return names;
}

// The candidate that the user named, checked against the solvers that exist.
Result<Candidate> NamedCandidate(const std::string& text, const Place& place,
                                 const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const Candidate candidate, ParseCandidate(text));
  const Solver* solver = FindSolver(place.backend->solvers(), candidate.solver);
  if (solver == nullptr) {
    return NotFound(fmt::format("There is no solver '{}' for the device '{}'. Solvers here: {}.",
                                Text(candidate.solver), place.device_spec,
                                SolverNames(place.backend->solvers())));
  }
  ATTUNE_RETURN_IF_ERROR(
      solver->IsApplicable(problem, place.target).WithContext(Text(solver->id())));
  // A library's own list is longer than the space, and it checks its arguments.
  if (solver->traits().listed_on_device) return candidate;
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver->Space(problem, place.target));
  if (!space.IndexOf(candidate.config)) {
    return NotFound(fmt::format(
        "The config {{{}}} is none of the {} that {} has for this problem. The first is {{{}}}.",
        Text(candidate.config), space.size(), Text(solver->id()), Text(space.At(0))));
  }
  return candidate;
}

Result<Candidate> BestCandidate(Application& application, const Place& place,
                                const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(const auto chosen,
                          ChooseAll(*store, place, {}, {TaggedProblem{problem, 1}}));
  if (!chosen[0].choice) return chosen[0].supported;
  return chosen[0].choice->candidate;
}

// Samples for `time_ns`, at least a few.
tl::expected<Measurement, Failure> Sample(BlockTimer& timer, CacheState cache, int64_t time_ns) {
  SteadyClock clock;
  TimingRequest request{1, cache};
  const auto first = timer.TimeBlock(0, request);
  if (!first) return tl::unexpected(first.error());
  const double wanted = kBlockTargetNs / std::max(*first, 1.0);
  request.launches = static_cast<int>(std::clamp(wanted, 1.0, double{kMaxLaunches}));
  std::vector<double> samples;
  const int64_t end_ns = clock.NowNs() + time_ns;
  while (samples.size() < MinSamplesFor(kConfidence) ||
         (clock.NowNs() < end_ns && samples.size() < Measurement::kMaxSamples)) {
    const auto sample = timer.TimeBlock(0, request);
    if (!sample) return tl::unexpected(sample.error());
    samples.push_back(*sample);
  }
  return MeasurementOf(std::move(samples), cache, kConfidence);
}

// Makes the data and verifies the candidate on it.
Result<Trial> Qualify(Workshop& workshop, const Problem& problem, const Candidate& candidate,
                      const RunVerbOptions& options, const std::function<bool()>& go_on) {
  ATTUNE_ASSIGN_OR_RETURN(const auto granted, workshop.TakeTurn(MachineUse::kPrepare, go_on));
  Evaluator& evaluator = workshop.evaluator();
  ATTUNE_RETURN_IF_ERROR(evaluator.Begin(problem, options.seed, {}, {}));
  ATTUNE_ASSIGN_OR_RETURN(const auto qualified,
                          evaluator.Qualify(std::span(&candidate, 1), {}, nullptr));
  if (qualified.empty()) return Internal("The candidate was not evaluated.");
  return qualified[0].trial;
}

Result<Outcome> Execute(Workshop& workshop, const Problem& problem, const Candidate& candidate,
                        const RunVerbOptions& options, const std::function<bool()>& go_on) {
  Outcome outcome;
  ATTUNE_ASSIGN_OR_RETURN(outcome.trial, Qualify(workshop, problem, candidate, options, go_on));
  if (outcome.trial.failure() != nullptr) return outcome;
  ATTUNE_ASSIGN_OR_RETURN(const auto granted, workshop.TakeTurn(MachineUse::kTime, go_on));
  outcome.turn_note = granted.note;
  ATTUNE_ASSIGN_OR_RETURN(const auto timer,
                          workshop.evaluator().StartTiming({&outcome.trial.candidate, 1}));
  const CacheState cache = ParseCacheState(options.cache).value_or(CacheState::kWarm);
  auto measured = Sample(*timer, cache, options.time_ns);
  if (!measured) {
    outcome.trial.outcome = measured.error();
    return outcome;
  }
  outcome.roofline_fraction =
      RooflineSeconds(problem, workshop.peaks()) * 1e9 / measured->median_ns;
  outcome.roofline_note = RooflineNote(problem, outcome.roofline_fraction, workshop.peaks());
  outcome.trial.outcome = std::move(*measured);
  if (options.counters.empty()) return outcome;
  auto counted = CountCall(workshop.place(), problem, candidate, options.counters);
  if (!counted.ok()) outcome.no_counters = counted.error().message();
  if (counted.ok()) outcome.counted = *std::move(counted);
  return outcome;
}

Json CountersJson(const std::vector<std::string>& counters, const Outcome& outcome) {
  Json kernels = Json::array();
  for (const std::vector<double>& values : outcome.counted) {
    Json kernel = Json::object();
    for (size_t i = 0; i < counters.size(); ++i) kernel[counters[i]] = values[i];
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Json OutcomeJson(const Problem& problem, const Place& place, const RunVerbOptions& options,
                 const Outcome& outcome) {
  Json json = {{"problem", Text(problem)}, {"target", Text(place.target)}};
  json.update(ToJson(outcome.trial));
  json.erase("role");
  json.erase("is_default");
  if (const Measurement* measured = outcome.trial.measurement()) {
    json["median_ns"] = measured->median_ns;
    AddRates(problem, measured->median_ns, json);
    json["roofline_fraction"] = outcome.roofline_fraction;
    json["roofline_note"] = outcome.roofline_note;
    if (!options.counters.empty()) {
      json["counters"] = CountersJson(options.counters, outcome);
      json["no_counters"] = outcome.no_counters;
    }
  }
  return json;
}

void PrintOutcome(const Problem& problem, const Outcome& outcome, Output& out) {
  const Trial& trial = outcome.trial;
  out.Print(fmt::format("Problem    {}\nCandidate  {}\n", Text(problem), Text(trial.candidate)));
  if (const Failure* failure = trial.failure()) {
    out.Print(Paint(out.screen(), Colour::kRed,
                    fmt::format("Failed     {} in {}: {}", Name(failure->kind),
                                Name(failure->phase), Printable(failure->message))) +
              "\n");
    return;
  }
  const Measurement& measured = *trial.measurement();
  const Rates rates = RatesOf(problem, measured.median_ns);
  out.Print(fmt::format(
      "Time       {} ({} to {} at {} confidence, {} samples, {} caches)\n"
      "Rate       {}, {}{}\n"
      "Error      {:.3g} of what is tolerated\n"
      "Made ready {} to build, {} to load, {} bytes of workspace\n",
      FormatTime(measured.median_ns), FormatTime(measured.low_ns), FormatTime(measured.high_ns),
      FormatConfidence(measured.confidence), measured.samples_ns.size(), Name(measured.cache),
      FormatRate(rates.flops, "FLOP/s"), FormatRate(rates.bytes, "B/s"),
      outcome.roofline_fraction > 0
          ? fmt::format(", {} of the roofline", FormatRoofline(outcome.roofline_fraction))
          : "",
      trial.max_error, FormatTime(static_cast<double>(trial.build_ns)),
      FormatTime(static_cast<double>(trial.load_ns)), trial.workspace_bytes));
  if (!outcome.roofline_note.empty()) {
    out.Print(fmt::format("Roofline   {}\n", outcome.roofline_note));
  }
}

void PrintCounters(const std::vector<std::string>& counters, const Outcome& outcome, Output& out) {
  if (!outcome.no_counters.empty()) {
    out.Print(fmt::format("Counters   none: {}\n", Printable(outcome.no_counters)));
  }
  for (const std::vector<double>& values : outcome.counted) {
    std::string line;
    for (size_t i = 0; i < counters.size(); ++i) {
      line += fmt::format("{}{} {:.6g}", i == 0 ? "" : ", ", counters[i], values[i]);
    }
    out.Print(fmt::format("Counters   {}\n", line));
  }
}

Result<int> RunRun(Application& application, const RunVerbOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ParseOneProblem(options.problem));
  ATTUNE_RETURN_IF_ERROR(ProblemData::CheckMemory(problem));
  ATTUNE_ASSIGN_OR_RETURN(const Place place,
                          FindPlaceToMeasure(application.backends(), options.device));
  ATTUNE_ASSIGN_OR_RETURN(const Candidate candidate,
                          options.candidate.empty()
                              ? BestCandidate(application, place, problem)
                              : NamedCandidate(options.candidate, place, problem));
  WaitNotice notice(application.err(), "run");
  const auto go_on = [&] {
    notice.StillWaiting();
    return true;
  };
  ATTUNE_ASSIGN_OR_RETURN(const auto workshop, Workshop::Open(place, options.limits, go_on));
  ATTUNE_ASSIGN_OR_RETURN(const Outcome outcome,
                          Execute(*workshop, problem, candidate, options, go_on));
  if (!outcome.turn_note.empty()) {
    application.err().Print(fmt::format("attune run: {}\n", Printable(outcome.turn_note)));
  }
  if (options.json) {
    application.out().Print(Dump(OutcomeJson(problem, place, options, outcome)));
  } else {
    PrintOutcome(problem, outcome, application.out());
    PrintCounters(options.counters, outcome, application.out());
  }
  return outcome.trial.failure() != nullptr ? kExitFailed : kExitDone;
}

}  // namespace

void AddRunVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<RunVerbOptions>();
  CLI::App* verb =
      AddVerb(program, "run", "Verify and time one candidate of a problem; nothing is recorded",
              "  attune run 'gemm@1{m=512,n=512,k=512}'\n"
              "  attune run 'gemm@1{m=512,n=512,k=512}' --candidate "
              "'host.openblas-gemm@1{routine=gemm,split=none,threads=1}' --time 5s");
  verb->add_option("problem", options->problem,
                   "A canonical problem text or a MIOpenDriver command line of one direction")
      ->required();
  verb->add_option("--candidate", options->candidate,
                   "As 'attune explain' lists them (default: the best one)");
  verb->add_option("--device", options->device, "Where it runs")->capture_default_str();
  verb->add_option("--cache", options->cache, "As for 'attune tune'")
      ->check(CLI::IsMember({"warm", "cold"}))
      ->capture_default_str();
  AddDurationOption(*verb, "--time", options->time_ns, "How long to measure (default: 1s)");
  AddSeedOption(*verb, options->seed, "Seed of the data");
  verb->add_option("--counters", options->counters,
                   "What the hardware counts in one call, by the vendor's names and separated by "
                   "commas: cycles,instructions,LLC-loads of perf, or those of CUPTI")
      ->delimiter(',')
      ->type_name("NAME,...");
  AddLimitOptions(*verb, options->limits);
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunRun(application, *options); };
  });
}

}  // namespace attune
