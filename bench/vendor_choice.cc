#include "bench/vendor_choice.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/workshop.h"
#include "attune/measure/statistics.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/tuner.h"
#include "bench/choice_bench.h"
#include "bench/fresh_race.h"
#include "bench/geometric_mean.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kConfidence = 0.99;

struct Options : ChoiceOptions {
  std::string set;
  std::string database;  // Empty: records are kept in memory.
};

struct Row {
  Problem problem;
  Candidate choice;
  double choice_ns = 0;
  double first_ns = 0;
  double best_ns = 0;        // That of the first if nothing of the vendor's is better.
  RatioEstimate over_first;  // First over choice, paired by rounds.
  RatioEstimate over_best;
};

// Of one solver, over all problems.
struct Family {
  int64_t tried = 0;
  int64_t failed = 0;
  int64_t chosen = 0;
};

class Bench {
 public:
  Bench(const VendorBench& bench, const Options& options, const Place& place)
      : bench_(bench), options_(options), place_(place) {}

  Status Run() {
    const std::vector<Problem> problems = Wanted();
    if (problems.empty()) return NotFound(fmt::format("No problem matches '{}'.", options_.only));
    if (options_.problems_only) {
      for (const Problem& problem : problems) fmt::print("{}\n", Text(problem));
      return Status::Ok();
    }
    if (options_.database.empty()) {
      store_ = std::make_unique<MemoryStore>();
    } else {
      ATTUNE_ASSIGN_OR_RETURN(store_, OpenSqlStore(options_.database));
    }
    ATTUNE_ASSIGN_OR_RETURN(workshop_, Workshop::Open(place_, WorkshopLimits{}));
    Tuner tuner(workshop_->PartsFor(*store_), options_.tune);
    for (const Problem& problem : problems) {
      ATTUNE_ASSIGN_OR_RETURN(Row row, TuneAndRace(tuner, problem));
      ++families_[row.choice.solver.name].chosen;
      fmt::print(stderr, "[{}/{}] {} {:.2f} {}\n", rows_.size() + 1, problems.size(),
                 Text(row.problem), row.over_first.ratio, Text(row.choice));
      rows_.push_back(std::move(row));
      ATTUNE_RETURN_IF_ERROR(Count(problem));
    }
    options_.json ? PrintJson() : PrintTable();
    return Status::Ok();
  }

 private:
  std::vector<Problem> Wanted() const {
    std::vector<Problem> problems;
    for (const ProblemSet& set : bench_.sets) {
      if (!options_.set.empty() && set.name != options_.set) continue;
      for (const Problem& problem : set.problems) {
        if (Text(problem).find(options_.only) != std::string::npos) problems.push_back(problem);
      }
    }
    return problems;
  }

  Result<Row> TuneAndRace(Tuner& tuner, const Problem& problem) {
    ATTUNE_ASSIGN_OR_RETURN(std::optional<Choice> choice, tuner.FindStanding(problem));
    if (!choice.has_value()) {
      ATTUNE_ASSIGN_OR_RETURN(TuneReport report, TuneForChoice(tuner, problem));
      choice = std::move(report.choice);
    }
    Row row;
    row.problem = problem;
    row.choice = choice->candidate;
    ATTUNE_RETURN_IF_ERROR(Race(row));
    return row;
  }

  // The vendor's first choice, whatever the baseline of the tuning was.
  Result<Candidate> FirstOf(const Problem& problem) const {
    for (const auto& solver : place_.backend->solvers()) {
      if (solver->id().name != bench_.vendor_solver) continue;
      ATTUNE_ASSIGN_OR_RETURN(Config config, solver->DefaultConfig(problem, place_.target));
      return Candidate{solver->id(), std::move(config)};
    }
    return NotFound(fmt::format("There is no solver '{}' for device '{}'.", bench_.vendor_solver,
                                place_.device_spec));
  }

  Status Race(Row& row) {
    ATTUNE_ASSIGN_OR_RETURN(const Candidate first, FirstOf(row.problem));
    RacePlan plan{.device = place_.device_spec,
                  .problem = row.problem,
                  .candidates = {row.choice, first},
                  .rounds = options_.rounds};
    const auto best = BestTried(bench_.vendor_solver, *store_, row.problem);
    if (best.has_value() && *best != first) plan.candidates.push_back(*best);
    ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
    if (samples[0].empty() || samples[1].empty()) {
      return Internal(fmt::format("{} failed in the fresh process.",
                                  Text(plan.candidates[samples[0].empty() ? 0 : 1])));
    }
    const auto over = [&](size_t i) {
      // The choice itself: whatever the two samples differ in is noise.
      if (plan.candidates[i] == row.choice) return RatioEstimate{1, 1, 1, kConfidence};
      return PairedRatio(samples[i], samples[0], kConfidence);
    };
    row.choice_ns = Median(samples[0]);
    row.first_ns = Median(samples[1]);
    row.over_first = over(1);
    row.best_ns = row.first_ns;
    row.over_best = row.over_first;
    if (samples.size() > 2 && !samples[2].empty()) {
      row.best_ns = Median(samples[2]);
      row.over_best = over(2);
    }
    return Status::Ok();
  }

  Status Count(const Problem& problem) {
    RecordQuery query;
    query.problem = problem;
    query.roles = {TrialRole::kQualify};
    query.with_samples = false;
    return store_->Visit(query, [&](const RecordedSet& recorded) {
      for (const Record& record : recorded.records) {
        Family& family = families_[record.trial.candidate.solver.name];
        ++family.tried;
        family.failed += record.trial.failure() != nullptr ? 1 : 0;
      }
      return Status::Ok();
    });
  }

  double MeanOver(RatioEstimate Row::*over) const {
    std::vector<double> ratios;
    for (const Row& row : rows_) ratios.push_back((row.*over).ratio);
    return GeometricMean(ratios);
  }

  const Row& Worst() const {
    return *std::min_element(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.over_first.ratio < b.over_first.ratio;
    });
  }

  void PrintJson() const {
    Json json = {{"summary",
                  {{"geomean_over_first", MeanOver(&Row::over_first)},
                   {"geomean_over_vendor_best", MeanOver(&Row::over_best)},
                   {"worst", Worst().over_first.ratio},
                   {"worst_problem", Text(Worst().problem)},
                   {"target", Text(place_.target)},
                   {"families", Json::object()}}},
                 {"rows", Json::array()}};
    for (const auto& [name, family] : families_) {
      json["summary"]["families"][name] = {
          {"tried", family.tried}, {"failed", family.failed}, {"chosen", family.chosen}};
    }
    for (const Row& row : rows_) {
      json["rows"].push_back({{"problem", Text(row.problem)},
                              {"candidate", Text(row.choice)},
                              {"median_ns", row.choice_ns},
                              {"first_ns", row.first_ns},
                              {"vendor_best_ns", row.best_ns},
                              {"over_first", row.over_first.ratio},
                              {"over_first_low", row.over_first.low},
                              {"over_vendor_best", row.over_best.ratio}});
    }
    std::puts(json.dump(2).c_str());
  }

  void PrintTable() const {
    fmt::print(
        "Medians in microseconds: the vendor's first choice, its best, and attune's choice.\n"
        "{:<72} {:>9} {:>9} {:>9} {:>10} {:>9}  {}\n",
        "problem", "first", "best", "choice", "over first", "over best", "candidate");
    for (const Row& row : rows_) {
      fmt::print("{:<72} {:>9.1f} {:>9.1f} {:>9.1f} {:>10.2f} {:>9.2f}  {}\n", Text(row.problem),
                 row.first_ns / 1000, row.best_ns / 1000, row.choice_ns / 1000,
                 row.over_first.ratio, row.over_best.ratio, Text(row.choice));
    }
    fmt::print("\n{:<32} {:>7} {:>7} {:>7}\n", "solver", "tried", "failed", "chosen");
    for (const auto& [name, family] : families_) {
      fmt::print("{:<32} {:>7} {:>7} {:>7}\n", name, family.tried, family.failed, family.chosen);
    }
    fmt::print(
        "\nGeometric mean over the vendor's first choice: {:.3f}; over its best: {:.3f}; worst "
        "over "
        "the first: {:.3f} ({}).\n",
        MeanOver(&Row::over_first), MeanOver(&Row::over_best), Worst().over_first.ratio,
        Text(Worst().problem));
  }

  const VendorBench& bench_;
  const Options& options_;
  const Place& place_;
  std::unique_ptr<RecordStore> store_;
  std::unique_ptr<Workshop> workshop_;
  std::vector<Row> rows_;
  std::map<std::string, Family> families_;
};

}  // namespace

int VendorBenchMain(int argc, char** argv, const VendorBench& bench) {
  Options options;
  options.device = "cuda:0";
  CLI::App app("How much faster attune's choices are than the vendor's own", bench.name);
  std::vector<std::string> names;
  for (const ProblemSet& set : bench.sets) names.push_back(set.name);
  app.add_option("--set", options.set, "Only the problems of this set")
      ->check(CLI::IsMember(names));
  app.add_option("--db", options.database,
                 "Keep the records here; what it knows already is not tuned again");
  return ChoiceBenchMain(argc, argv, app, options,
                         [&](const Place& place) { return Bench(bench, options, place).Run(); });
}

}  // namespace attune
