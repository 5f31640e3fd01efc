// Savings and costs of racing, on real launches: configs of a user's kernel are raced as the tuner
// races its contenders, and then all of them in all of the rounds.
//
//   own_kernel_race --kernel FILE [--size SIZES] [--device DEVICE] [--fields N] [--configs N]
//                   [--truth-rounds N] [--json]
//
// A field is a random choice of configs, those within three times of the best at first sight and
// the default, as in `attune tune`.
//   saved   of the time that the field takes with every contender in every round of the race
//   regret  how much slower the best finalist is than the best of the field, both by fresh rounds
//           of the finalists and of the five that were best in all rounds
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/attune/kernel_options.h"
#include "apps/attune/workshop.h"
#include "attune/base/random.h"
#include "attune/measure/clock.h"
#include "attune/measure/decision.h"
#include "attune/measure/race.h"
#include "attune/measure/statistics.h"
#include "bench/figures.h"
#include "runtime/places.h"

namespace attune {
namespace {

struct Options {
  std::vector<std::string> problems;
  std::string device;
  int fields = 3;
  int configs = 48;
  int truth_rounds = 60;
  bool json = false;
};

constexpr double kQuickCut = 3;  // As the tuner's.
constexpr size_t kBestOfAll = 5;

// Ready to be raced: the default first.
struct Field {
  std::vector<Candidate> candidates;
};

struct Outcome {
  double race_s = 0;
  double whole_s = 0;
  double regret = 0;
  int rounds = 0;
  size_t entrants = 0;
};

const Solver& SolverOf(const Place& place, const Problem& problem) {
  for (const auto& solver : place.backend->solvers()) {
    const bool is_usual = !solver->traits().last_resort;
    if (is_usual && solver->IsApplicable(problem, place.target).ok()) return *solver;
  }
  Require(NotFound(fmt::format("No solver of {} computes the problem.", place.device_spec)));
  std::abort();
}

Field MakeField(const Place& place, Evaluator& evaluator, const Problem& problem,
                const Options& options, uint64_t seed) {
  const Solver& solver = SolverOf(place, problem);
  const auto space = solver.Space(problem, place.target);
  Require(space.status());
  Random random(seed);
  std::set<uint64_t> indices = {0};
  const uint64_t wanted = std::min<uint64_t>(space->size(), static_cast<uint64_t>(options.configs));
  while (indices.size() < wanted) indices.insert(space->Sample(random));
  std::vector<Candidate> candidates;
  for (const uint64_t index : indices) candidates.push_back({solver.id(), space->At(index)});
  const auto qualified = evaluator.Qualify(candidates, {}, nullptr);
  Require(qualified.status());
  double best_ns = 0;
  for (const Qualified& each : *qualified) {
    if (each.trial.failure() != nullptr) continue;
    if (best_ns == 0 || each.quick_ns < best_ns) best_ns = each.quick_ns;
  }
  Field field;
  for (const Qualified& each : *qualified) {
    const bool is_default = each.trial.candidate == candidates.front();
    if (each.trial.failure() != nullptr) continue;
    if (is_default || each.quick_ns <= kQuickCut * best_ns) {
      field.candidates.push_back(each.trial.candidate);
    }
  }
  if (field.candidates.empty() || field.candidates.front() != candidates.front()) {
    Require(Internal("The default config failed."));
  }
  return field;
}

// Samples of `who` in `rounds` rounds, each in every round, in random order.
std::vector<std::vector<double>> TimeAll(BlockTimer& timer, const RaceResult& race,
                                         const std::vector<size_t>& who, int rounds) {
  std::vector<std::vector<double>> samples(who.size());
  Random random(7);
  std::vector<size_t> order(who.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < rounds; ++round) {
    random.Shuffle(std::span<size_t>(order));
    for (const size_t i : order) {
      const TimingRequest request = {.launches = race.entries[who[i]].launches,
                                     .cache = CacheState::kWarm};
      const auto time_ns = timer.TimeBlock(who[i], request);
      if (!time_ns) Require(Internal(time_ns.error().message));
      samples[i].push_back(*time_ns);
    }
  }
  return samples;
}

std::vector<double> Medians(const std::vector<std::vector<double>>& samples) {
  std::vector<double> medians;
  for (const std::vector<double>& each : samples) medians.push_back(Median(each));
  return medians;
}

// How much slower the best of `finalists` is than the best of them and of those with the least of
// `medians`, by fresh samples.
double Regret(BlockTimer& timer, const RaceResult& race, const std::vector<double>& medians,
              const std::vector<size_t>& finalists, int rounds) {
  std::vector<size_t> order(medians.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return medians[a] < medians[b]; });
  order.resize(std::min(order.size(), kBestOfAll));
  std::vector<size_t> who = finalists;
  for (const size_t i : order) {
    if (std::find(who.begin(), who.end(), i) == who.end()) who.push_back(i);
  }
  const std::vector<double> fresh = Medians(TimeAll(timer, race, who, rounds));
  const auto end = fresh.begin() + static_cast<std::ptrdiff_t>(finalists.size());
  return *std::min_element(fresh.begin(), end) / *std::min_element(fresh.begin(), fresh.end()) - 1;
}

Outcome RaceField(Evaluator& evaluator, const Field& field, const Options& options, uint64_t seed) {
  auto timer = evaluator.StartTiming(field.candidates);
  Require(timer.status());
  // Some devices translate a kernel at its first launch: for all candidates, raced or not.
  for (size_t i = 0; i < field.candidates.size(); ++i) {
    const auto first = (*timer)->TimeBlock(i, {.launches = 1, .cache = CacheState::kWarm});
    if (!first) Require(Internal(first.error().message));
  }
  RaceOptions race_options;
  race_options.seed = seed;
  race_options.budget_ns = int64_t{1} << 60;
  const Entrants everybody{field.candidates.size(), 0};
  SteadyClock clock;
  const RaceResult race = Race(**timer, everybody, race_options, clock);
  for (const RaceEntry& entry : race.entries) {
    if (const Failure* failure = entry.failure()) Require(Internal(failure->message));
  }
  std::vector<size_t> all(field.candidates.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto begin = WallClock::now();
  // The pass that finds out how long blocks are is one of the race's, too.
  const auto medians = Medians(TimeAll(**timer, race, all, race.rounds + 1));
  Outcome outcome{static_cast<double>(race.elapsed_ns) / 1e9, SecondsSince(begin), 0, race.rounds,
                  all.size()};
  std::vector<size_t> finalists = {0};
  for (const Finalist& finalist :
       SelectFinalists(race, everybody, race_options.margin, race_options.finalists)) {
    finalists.push_back(finalist.index);
  }
  outcome.regret = Regret(**timer, race, medians, finalists, options.truth_rounds);
  return outcome;
}

void RunBench(const Options& options) {
  const LoadedBackends backends = LoadBackends();
  const auto place = FindPlaceToMeasure(backends, options.device);
  Require(place.status());
  const auto workshop = Workshop::Open(*place, {});
  Require(workshop.status());
  const auto grant = (*workshop)->TakeTurn(MachineUse::kTime, nullptr);
  Require(grant.status());
  Evaluator& evaluator = (*workshop)->evaluator();
  std::vector<Figure> figures;
  for (const std::string& text : options.problems) {
    const auto problem = ParseProblem(text);
    Require(problem.status());
    Require(evaluator.Begin(*problem, 1, {}, {}));
    Outcome sum;
    for (int field = 1; field <= options.fields; ++field) {
      const auto seed = static_cast<uint64_t>(field);
      const Outcome outcome = RaceField(
          evaluator, MakeField(*place, evaluator, *problem, options, seed), options, seed);
      const std::string name = fmt::format("field_{}", field);
      figures.push_back({name + ".entrants", static_cast<double>(outcome.entrants), ""});
      figures.push_back({name + ".rounds", static_cast<double>(outcome.rounds), ""});
      figures.push_back({name + ".saved", 1 - outcome.race_s / outcome.whole_s, ""});
      figures.push_back({name + ".regret", outcome.regret, ""});
      sum.race_s += outcome.race_s;
      sum.whole_s += outcome.whole_s;
      sum.regret += outcome.regret / options.fields;
    }
    figures.push_back({"race_saved", 1 - sum.race_s / sum.whole_s, ">= 0.25"});
    figures.push_back({"race_regret", sum.regret, "<= 0.005"});
  }
  PrintFigures(figures, {{"device", options.device}, {"fields", options.fields}}, options.json);
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("Races configs of a user's kernel, and then runs all of them in every round.");
  app.add_option("--device", options.device, "Where (default: the first of the kernel's language)");
  CLI::Option_group* group = app.add_option_group("problem");
  attune::AddKernelOptions(app, *group, options.problems, options.device);
  group->require_option(1);
  app.add_option("--fields", options.fields, "Races")->check(CLI::Range(1, 1000));
  app.add_option("--configs", options.configs, "Of each field, before the quick cut")
      ->check(CLI::Range(2, 48));
  app.add_option("--truth-rounds", options.truth_rounds, "Fresh rounds that tell the regret")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  attune::RunBench(options);
  return 0;
}
