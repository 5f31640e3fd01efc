// Figures of the record store: trials appended per second, each batch durable, and the time in
// which a fresh process finds the best candidates in a database of a million trials: one that only
// reads the records and chooses, and `attune best` itself, which prints them, too.
//
//   store [--trials N] [--problems N] [--batch N] [--folder DIR] [--json]
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/attune/choices.h"
#include "apps/attune/thread_policy.h"
#include "attune/base/random.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "bench/figures.h"
#include "runtime/places.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

constexpr const char* kTag = "bench";

struct Options {
  int64_t trials = 1'000'000;
  int64_t problems = 1000;
  int64_t batch = 256;
  int64_t imported_problems = 100'000;
  std::string folder;
  bool json = false;
  std::string child_tag;       // Set in a child: print the winners of this tag.
  int64_t child_problem = -1;  // Set in a child: print the winner of this problem.
  std::string child_database;
};

// Every fourth is a convolution, in all three directions.
Problem BenchProblem(int64_t index) {
  if (index % 4 != 3) return Normalized(PackedGemm(1 + index % 4096, 64 + index / 4096, 512));
  Conv conv;
  conv.direction = static_cast<ConvDirection>(index / 4 % 3);
  conv.in_channels = 16;
  conv.out_channels = 32;
  conv.in = {1, 4 + index % 64, 4 + index / 64};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};
  return conv;
}

// The solver would not list this size: records keep the truth of their time.
Candidate BenchCandidate(const Problem& problem, int64_t index) {
  Candidate candidate{{problem.Is<Gemm>() ? "host.packed-gemm" : "host.direct-conv", 1}, {}};
  candidate.config["mc"] = int64_t{16} * (1 + index % 10);
  candidate.config["nc"] = int64_t{32} * (1 + index / 10 % 10);
  candidate.config["threads"] = 1 + index / 100;
  return candidate;
}

Measurement BenchMeasurement(int64_t sample_count, double scale, Random& random) {
  Measurement measurement;
  for (int64_t i = 0; i < sample_count; ++i) {
    measurement.samples_ns.push_back(1e5 * scale * (1 + 0.01 * random.Uniform()));
  }
  measurement.median_ns = 1e5 * scale;
  measurement.low_ns = 0.99e5 * scale;
  measurement.high_ns = 1.01e5 * scale;
  measurement.confidence = 0.99;
  return measurement;
}

// The tuned problems, and their place: this machine, as `attune best` sees it.
struct Subject {
  const Place& place;
  Problem problem;
  Candidate usual;  // Its default.
};

// Trial `index` of `count` of one problem, as a tuning leaves them: half are refused or only
// qualified, the others screened, and ten get to the final.
Trial BenchTrial(const Subject& subject, int64_t index, int64_t count, Random& random) {
  constexpr int64_t kFinalists = 10;
  constexpr int64_t kScreenSamples = 12;
  constexpr int64_t kFinalSamples = 48;
  Trial trial;
  trial.candidate = BenchCandidate(subject.problem, index);
  trial.build_ns = 1'000'000;
  if (index < count / 4) {
    trial.role = TrialRole::kQualify;
    trial.outcome =
        Failure{FailureKind::kNotApplicable, Phase::kBuild, "k must be a multiple of 16."};
  } else if (index < count / 2) {
    trial.role = TrialRole::kQualify;
  } else if (index < count - kFinalists) {
    trial.role = TrialRole::kScreen;
    trial.outcome = BenchMeasurement(kScreenSamples, 1 + random.Uniform(), random);
  } else {
    trial.role = TrialRole::kFinal;
    trial.is_default = index == count - 1;
    if (trial.is_default) trial.candidate = subject.usual;
    trial.outcome = BenchMeasurement(kFinalSamples, trial.is_default ? 1.3 : 1.1, random);
  }
  return trial;
}

Result<Subject> BenchSubject(const Place& place, int64_t problem_index) {
  const Problem problem = BenchProblem(problem_index);
  auto usual = DefaultCandidate(place, problem);
  if (!usual) return NotFound(fmt::format("No solver here computes {}.", Text(problem)));
  return Subject{place, problem, *std::move(usual)};
}

MeasurementSet BenchSet(const Subject& subject, int64_t problem_index) {
  MeasurementSet set;
  set.id = NewSetId();
  set.problem = subject.problem;
  set.target = subject.place.target;
  set.environment = subject.place.environment;
  set.peaks = {1e13, 5e12, 2e13};
  set.searcher = "exhaustive";
  set.measured_by = "bench@host";
  set.attune_version = "0.1.0";
  set.started_unix_ns = problem_index;
  return set;
}

// Tunes one problem; seconds spent in Append.
double AppendProblem(RecordStore& store, const Place& place, const Options& options,
                     int64_t problem_index) {
  const auto subject = BenchSubject(place, problem_index);
  Require(subject.status());
  const int64_t count = options.trials / options.problems;
  Random random(static_cast<uint64_t>(problem_index));
  const MeasurementSet set = BenchSet(*subject, problem_index);
  Require(store.BeginSet(set));
  std::vector<Trial> batch;
  double seconds = 0;
  for (int64_t i = 0; i < count; ++i) {
    batch.push_back(BenchTrial(*subject, i, count, random));
    if (static_cast<int64_t>(batch.size()) < options.batch && i + 1 < count) continue;
    const WallClock::time_point start = WallClock::now();
    Require(store.Append(set.id, batch));
    seconds += SecondsSince(start);
    batch.clear();
  }
  Require(store.FinishSet(set.id));
  return seconds;
}

double TrialsPerSecond(RecordStore& store, const Place& place, const Options& options) {
  double seconds = 0;
  for (int64_t i = 0; i < options.problems; ++i) {
    seconds += AppendProblem(store, place, options, i);
    if ((i + 1) % 100 == 0) {
      fmt::print(stderr, "appended the trials of {} of {} problems\n", i + 1, options.problems);
    }
  }
  return static_cast<double>(options.trials / options.problems * options.problems) / seconds;
}

// One trial in each transaction: the limit of a tuner that reports at once.
double SinglesPerSecond(RecordStore& store, const Place& place) {
  constexpr int64_t kCount = 500;
  Random random(1);
  const auto subject = BenchSubject(place, 0);
  Require(subject.status());
  const MeasurementSet set = BenchSet(*subject, 0);
  Require(store.BeginSet(set));
  const WallClock::time_point start = WallClock::now();
  for (int64_t i = 0; i < kCount; ++i) {
    const Trial trial = BenchTrial(*subject, i, kCount, random);
    Require(store.Append(set.id, {&trial, 1}));
  }
  return kCount / SecondsSince(start);
}

double ProblemsPerSecond(RecordStore& store, const Options& options) {
  std::vector<TaggedProblem> problems;
  for (int64_t i = 0; i < options.imported_problems; ++i) problems.push_back({BenchProblem(i), 1});
  const WallClock::time_point start = WallClock::now();
  Require(store.AddProblems("imported", problems));
  return static_cast<double>(options.imported_problems) / SecondsSince(start);
}

// Reads the records and chooses, as `attune best` does, but needs no device and prints no winner.
int ChooseBest(const Options& options) {
  Result<std::unique_ptr<RecordStore>> store = OpenSqlStore(options.child_database);
  Require(store.status());
  RecordQuery query;
  query.roles = {TrialRole::kFinal};
  query.finished_only = true;
  if (!options.child_tag.empty()) query.tag = options.child_tag;
  if (options.child_problem >= 0) query.problem = BenchProblem(options.child_problem);
  int64_t winners = 0;
  Require((*store)->Visit(query, [&](const RecordedSet& recorded) {
    const auto choice = SelectBest({&recorded, 1}, recorded.set.target, recorded.set.environment,
                                   SelectOptions(), nullptr);
    if (choice.has_value() && choice->provenance == Provenance::kMeasured) ++winners;
    return Status::Ok();
  }));
  if (winners == 0) Require(NotFound("Nothing was found to be the best."));
  fmt::print("{}\n", winners);
  return 0;
}

// The two processes that are timed.
enum class Chooser { kBench, kVerb };

// One of attune's problems, or all of the tag.
struct Selection {
  std::optional<int64_t> problem;
};

// Milliseconds from starting a process that finds the best to its end.
double BestMs(const std::string& database, Chooser chooser, const Selection& selection) {
  const auto& [problem] = selection;
  const std::string number = fmt::format("{}", problem.value_or(0));
  const std::string text = Text(BenchProblem(problem.value_or(0)));
  const WallClock::time_point start = WallClock::now();
  if (chooser == Chooser::kBench) {
    RunAgain({"--child-database", database, problem ? "--child-problem" : "--child-tag",
              problem ? number : kTag},
             "/dev/null");
  } else {
    RunBeside("attune",
              {"best", "--db", database, problem ? "--problem" : "--tag", problem ? text : kTag},
              "/dev/null");
  }
  return SecondsSince(start) * 1e3;
}

double BestOfProblemMs(const std::string& database, const Options& options, Chooser chooser,
                       DiskCache cache) {
  constexpr int64_t kRuns = 9;
  std::vector<double> times_ms;
  for (int64_t i = 0; i < kRuns; ++i) {
    const int64_t problem = options.problems * i / kRuns;
    if (cache == DiskCache::kCold) Forget(database);
    times_ms.push_back(BestMs(database, chooser, {problem}));
  }
  return MedianOf(times_ms);
}

double BestOfTagMs(const std::string& database, Chooser chooser, DiskCache cache) {
  constexpr int kRuns = 5;
  std::vector<double> times_ms;
  for (int i = 0; i < kRuns; ++i) {
    if (cache == DiskCache::kCold) Forget(database);
    times_ms.push_back(BestMs(database, chooser, {}));
  }
  return MedianOf(times_ms);
}

std::vector<Figure> Measure(const std::string& database, const Options& options) {
  std::vector<Figure> figures;
  const LoadedBackends backends = LoadBackends();
  const auto place = FindPlace(backends.list, "cpu");
  Require(place.status());
  {
    Result<std::unique_ptr<RecordStore>> store = OpenSqlStore(database);
    Require(store.status());
    std::vector<TaggedProblem> problems;
    for (int64_t i = 0; i < options.problems; ++i) problems.push_back({BenchProblem(i), 1});
    Require((*store)->AddProblems(kTag, problems));
    figures.push_back(
        {"appended_trials_per_s", TrialsPerSecond(**store, *place, options), ">= 20000"});
    figures.push_back({"appended_singles_per_s", SinglesPerSecond(**store, *place), ""});
    figures.push_back({"added_problems_per_s", ProblemsPerSecond(**store, options), ">= 50000"});
  }
  const auto size_bytes = static_cast<double>(std::filesystem::file_size(database));
  figures.push_back({"bytes_per_trial", size_bytes / static_cast<double>(options.trials), ""});
  fmt::print(stderr, "looking for the best\n");
  for (const DiskCache cache : {DiskCache::kWarm, DiskCache::kCold}) {
    const std::string suffix = cache == DiskCache::kWarm ? "_ms" : "_cold_disk_ms";
    const bool is_required = cache == DiskCache::kWarm;
    for (const Chooser chooser : {Chooser::kBench, Chooser::kVerb}) {
      const std::string best = chooser == Chooser::kBench ? "best" : "best_verb";
      figures.push_back({best + "_problem" + suffix,
                         BestOfProblemMs(database, options, chooser, cache),
                         is_required ? "< 50" : ""});
      figures.push_back({fmt::format("{}_tag_{}{}", best, options.problems, suffix),
                         BestOfTagMs(database, chooser, cache), is_required ? "< 2000" : ""});
    }
  }
  return figures;
}

int Run(const Options& options) {
  if (!options.child_database.empty()) return ChooseBest(options);
  const BenchFolder folder(options.folder);
  PrintFigures(
      Measure(folder.path() / "attune.db", options),
      {{"trials", options.trials}, {"problems", options.problems}, {"batch", options.batch}},
      options.json);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  // The same environment as that of the program with the timed verb.
  attune::SetThreadWaitPolicy(argv);
  attune::Options options;
  CLI::App app("Figures of the record store over a database of a million trials");
  app.add_option("--trials", options.trials, "Trials in the database")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--problems", options.problems, "Problems that share the trials")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Trials appended at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--imported-problems", options.imported_problems, "Problems added at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--folder", options.folder, "Where to put the database for a while");
  app.add_flag("--json", options.json, "Print one JSON object");
  app.add_option("--child-database", options.child_database)->group("");
  app.add_option("--child-tag", options.child_tag)->group("");
  app.add_option("--child-problem", options.child_problem)->group("");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
