#include "bench/vendor_choice.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/verbs.h"
#include "apps/attune/workshop.h"
#include "attune/base/steady_time.h"
#include "attune/measure/statistics.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/tuner.h"
#include "bench/choice_bench.h"
#include "bench/figures.h"
#include "bench/fresh_race.h"
#include "bench/geometric_mean.h"
#include "bench/vendor_bounds.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kConfidence = 0.99;
constexpr const char* kMatrixSolver = "cuda.cublaslt-gemm";
// Copies of the operands that launches step through, several times the L2 of any GPU of today.
constexpr int64_t kRotationBytes = int64_t{512} << 20;
constexpr double kNoRatio = std::numeric_limits<double>::infinity();

struct Options : ChoiceOptions {
  std::vector<std::string> sets;  // Empty: all.
  std::string database;           // Empty: records are kept in memory.
  int64_t within_ns = 0;          // No problem is begun after so long; 0: all are.
};

std::vector<Problem> WantedProblems(const VendorBench& bench, const Options& options) {
  std::vector<Problem> problems;
  for (const ProblemSet& set : bench.sets) {
    if (!options.sets.empty() && std::ranges::count(options.sets, set.name) == 0) continue;
    for (const Problem& problem : set.problems) {
      if (Text(problem).find(options.only) != std::string::npos) problems.push_back(problem);
    }
  }
  return problems;
}

// A reference for a choice.
struct Baseline {
  double ns = 0;
  RatioEstimate over;  // Over the choice, paired by rounds.
};

struct Row {
  Problem problem;
  Candidate choice;
  double choice_ns = 0;
  std::optional<Baseline> first;   // None if the vendor's first choice is wrong.
  std::optional<Baseline> best;    // The first if nothing of the vendor's is better.
  std::optional<Baseline> unseen;  // Serves before tuning; none if it is wrong.
  double roofline_ns = 0;
};

// One solver over all problems.
struct Family {
  int64_t tried = 0;
  int64_t failed = 0;
  int64_t chosen = 0;
};

class Bench {
 public:
  Bench(const VendorBench& bench, const Options& options, const Place& place)
      : bench_(bench), options_(options), place_(place) {}

  Status Run(const std::vector<Problem>& problems) {
    const int64_t end_ns = options_.within_ns > 0 ? SteadyNowNs() + options_.within_ns : 0;
    if (options_.database.empty()) {
      store_ = std::make_unique<MemoryStore>();
    } else {
      ATTUNE_ASSIGN_OR_RETURN(store_, OpenSqlStore(options_.database));
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto unseen, ServedUnseen(place_.device_spec, problems));
    ATTUNE_ASSIGN_OR_RETURN(workshop_, Workshop::Open(place_, WorkshopLimits{}));
    Roofline roofline(place_.device_spec, kMatrixSolver, workshop_->peaks());
    Tuner tuner(workshop_->PartsFor(*store_), options_.tune);
    for (size_t i = 0; i < problems.size(); ++i) {
      if (end_ns > 0 && SteadyNowNs() >= end_ns) {
        left_ = problems.size() - i;
        break;
      }
      const Status status = AddRow(tuner, roofline, problems[i], unseen[i]);
      if (!status.ok()) failures_.push_back({Text(problems[i]), status.message()});
      const std::string outcome =
          status.ok() ? fmt::format("{} {}", Ratio(rows_.back().first), Text(rows_.back().choice))
                      : status.message();
      fmt::print(stderr, "[{}/{}] {} {}\n", i + 1, problems.size(), Text(problems[i]), outcome);
    }
    if (rows_.empty()) return Internal("None of the problems could be timed.");
    options_.json ? PrintJson() : PrintTable();
    if (failures_.empty()) return Status::Ok();
    return Internal(fmt::format("{} of the problems could not be timed.", failures_.size()));
  }

 private:
  Status AddRow(Tuner& tuner, Roofline& roofline, const Problem& problem,
                const std::optional<Candidate>& unseen) {
    ATTUNE_ASSIGN_OR_RETURN(Row row, TuneAndRace(tuner, problem, unseen));
    ATTUNE_ASSIGN_OR_RETURN(row.roofline_ns, roofline.Ns(problem));
    ATTUNE_RETURN_IF_ERROR(Count(problem));
    ++families_[row.choice.solver.name].chosen;
    rows_.push_back(std::move(row));
    return Status::Ok();
  }

  Result<Row> TuneAndRace(Tuner& tuner, const Problem& problem,
                          const std::optional<Candidate>& unseen) {
    ATTUNE_ASSIGN_OR_RETURN(std::optional<Choice> choice, tuner.FindStanding(problem));
    if (!choice.has_value()) {
      ATTUNE_ASSIGN_OR_RETURN(TuneReport report, TuneForChoice(tuner, problem));
      choice = std::move(report.choice);
    }
    Row row;
    row.problem = problem;
    row.choice = choice->candidate;
    ATTUNE_RETURN_IF_ERROR(Race(row, unseen));
    return row;
  }

  // The vendor's first choice, independent of the tuning's baseline.
  Result<Candidate> FirstOf(const Problem& problem) const {
    for (const auto& solver : place_.backend->solvers()) {
      if (solver->id().name != bench_.vendor_solver) continue;
      ATTUNE_ASSIGN_OR_RETURN(Config config, solver->DefaultConfig(problem, place_.target));
      return Candidate{solver->id(), std::move(config)};
    }
    return NotFound(fmt::format("There is no solver '{}' for device '{}'.", bench_.vendor_solver,
                                place_.device_spec));
  }

  Status Race(Row& row, const std::optional<Candidate>& unseen) {
    ATTUNE_ASSIGN_OR_RETURN(const Candidate first, FirstOf(row.problem));
    RacePlan plan{.device = place_.device_spec,
                  .problem = row.problem,
                  .candidates = {row.choice, first},
                  .rounds = options_.rounds,
                  .cache = options_.tune.cache,
                  .terms = options_.tune.terms};
    const auto place_of = [&](const Candidate& candidate) {
      const auto found = std::ranges::find(plan.candidates, candidate);
      const size_t place = static_cast<size_t>(found - plan.candidates.begin());
      if (found == plan.candidates.end()) plan.candidates.push_back(candidate);
      return place;
    };
    const auto best = BestTried(bench_.vendor_solver, *store_, row.problem);
    const size_t best_place = best.has_value() ? place_of(*best) : 1;
    const size_t unseen_place = unseen.has_value() ? place_of(*unseen) : 0;
    ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
    if (samples[0].empty()) {
      return Internal(fmt::format("{} failed in the fresh process.", Text(plan.candidates[0])));
    }
    const auto baseline = [&](size_t i) -> std::optional<Baseline> {
      if (samples[i].empty()) return std::nullopt;
      // The choice itself: any difference of the two samples is noise.
      if (plan.candidates[i] == row.choice) {
        return Baseline{Median(samples[i]), RatioEstimate{1, 1, 1, kConfidence}};
      }
      return Baseline{Median(samples[i]), PairedRatio(samples[i], samples[0], kConfidence)};
    };
    row.choice_ns = Median(samples[0]);
    row.first = baseline(1);
    row.best = samples[best_place].empty() ? row.first : baseline(best_place);
    if (unseen.has_value()) row.unseen = baseline(unseen_place);
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

  // For rows that have such a baseline.
  double MeanOver(std::optional<Baseline> Row::*baseline) const {
    std::vector<double> ratios;
    for (const Row& row : rows_) {
      if ((row.*baseline).has_value()) ratios.push_back((row.*baseline)->over.ratio);
    }
    return GeometricMean(ratios);
  }

  double MeanOverRoofline() const {
    std::vector<double> ratios;
    for (const Row& row : rows_) ratios.push_back(row.choice_ns / row.roofline_ns);
    return GeometricMean(ratios);
  }

  const Row& Worst() const {
    const auto ratio = [](const Row& row) {
      return row.first.has_value() ? row.first->over.ratio : kNoRatio;
    };
    return *std::min_element(rows_.begin(), rows_.end(),
                             [&](const Row& a, const Row& b) { return ratio(a) < ratio(b); });
  }

  int64_t WrongFirsts() const {
    return std::count_if(rows_.begin(), rows_.end(),
                         [](const Row& row) { return !row.first.has_value(); });
  }

  static std::string Microseconds(const std::optional<Baseline>& baseline) {
    return baseline.has_value() ? fmt::format("{:.1f}", baseline->ns / 1000) : "wrong";
  }

  static std::string Ratio(const std::optional<Baseline>& baseline) {
    return baseline.has_value() ? fmt::format("{:.2f}", baseline->over.ratio) : "-";
  }

  void PrintJson() const {
    Json json = {{"summary",
                  {{"geomean_over_first", MeanOver(&Row::first)},
                   {"geomean_over_vendor_best", MeanOver(&Row::best)},
                   {"geomean_unseen_over_choice", MeanOver(&Row::unseen)},
                   {"geomean_choice_over_roofline", MeanOverRoofline()},
                   {"wrong_firsts", WrongFirsts()},
                   {"worst", Worst().first.has_value() ? Json(Worst().first->over.ratio) : Json()},
                   {"worst_problem", Text(Worst().problem)},
                   {"cache", Name(options_.tune.cache)},
                   {"not_begun", left_},
                   {"target", Text(place_.target)},
                   {"families", Json::object()}}},
                 {"failures", Json::array()},
                 {"rows", Json::array()}};
    for (const auto& [problem, reason] : failures_) {
      json["failures"].push_back({{"problem", problem}, {"reason", reason}});
    }
    for (const auto& [name, family] : families_) {
      json["summary"]["families"][name] = {
          {"tried", family.tried}, {"failed", family.failed}, {"chosen", family.chosen}};
    }
    const auto number = [](const std::optional<Baseline>& baseline, auto value) {
      return baseline.has_value() ? Json(value(*baseline)) : Json();
    };
    const auto ns = [](const Baseline& baseline) { return baseline.ns; };
    const auto ratio = [](const Baseline& baseline) { return baseline.over.ratio; };
    const auto low = [](const Baseline& baseline) { return baseline.over.low; };
    for (const Row& row : rows_) {
      json["rows"].push_back({{"problem", Text(row.problem)},
                              {"candidate", Text(row.choice)},
                              {"median_ns", row.choice_ns},
                              {"first_ns", number(row.first, ns)},
                              {"vendor_best_ns", number(row.best, ns)},
                              {"unseen_ns", number(row.unseen, ns)},
                              {"roofline_ns", row.roofline_ns},
                              {"over_first", number(row.first, ratio)},
                              {"over_first_low", number(row.first, low)},
                              {"over_vendor_best", number(row.best, ratio)}});
    }
    std::puts(json.dump(2).c_str());
  }

  void PrintTable() const {
    fmt::print(
        "Medians in microseconds, {} caches: the vendor's first choice, its best, what attune "
        "serves before anything is tuned, its choice, and the roofline.\n"
        "{:<72} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9}  {}\n",
        Name(options_.tune.cache), "problem", "first", "best", "unseen", "choice", "roofline",
        "over first", "over best", "candidate");
    for (const Row& row : rows_) {
      fmt::print("{:<72} {:>9} {:>9} {:>9} {:>9.1f} {:>9.1f} {:>10} {:>9}  {}\n", Text(row.problem),
                 Microseconds(row.first), Microseconds(row.best), Microseconds(row.unseen),
                 row.choice_ns / 1000, row.roofline_ns / 1000, Ratio(row.first), Ratio(row.best),
                 Text(row.choice));
    }
    fmt::print("\n{:<32} {:>7} {:>7} {:>7}\n", "solver", "tried", "failed", "chosen");
    for (const auto& [name, family] : families_) {
      fmt::print("{:<32} {:>7} {:>7} {:>7}\n", name, family.tried, family.failed, family.chosen);
    }
    fmt::print(
        "\nGeometric mean over the vendor's first choice: {:.3f}; over its best: {:.3f}; worst "
        "over the first: {} ({}). What is served unseen takes {:.3f} times the time of the choice, "
        "the choice {:.3f} times the roofline.\n",
        MeanOver(&Row::first), MeanOver(&Row::best), Ratio(Worst().first), Text(Worst().problem),
        MeanOver(&Row::unseen), MeanOverRoofline());
    for (const auto& [problem, reason] : failures_) fmt::print("{}: {}\n", problem, reason);
    if (left_ > 0) fmt::print("{} problems more were not begun in the time.\n", left_);
    if (WrongFirsts() > 0) {
      fmt::print("What the vendor chooses first computes {} of these wrongly; they are left out.\n",
                 WrongFirsts());
    }
  }

  const VendorBench& bench_;
  const Options& options_;
  const Place& place_;
  std::unique_ptr<RecordStore> store_;
  std::unique_ptr<Workshop> workshop_;
  std::vector<Row> rows_;
  std::map<std::string, Family> families_;
  std::vector<std::pair<std::string, std::string>> failures_;  // Problem and reason.
  size_t left_ = 0;  // Problems that were not begun in the time.
};

}  // namespace

ProblemSet SetOfTexts(std::string name, std::span<const char* const> texts) {
  ProblemSet set{std::move(name), {}};
  for (const char* text : texts) {
    const auto problem = ParseProblem(text);
    Require(problem.status());
    set.problems.push_back(*problem);
  }
  return set;
}

int VendorBenchMain(int argc, char** argv, const VendorBench& bench) {
  Options options;
  options.device = "cuda:0";
  CLI::App app("How much faster attune's choices are than the vendor's own", bench.name);
  std::vector<std::string> names;
  for (const ProblemSet& set : bench.sets) names.push_back(set.name);
  app.add_option("--set", options.sets, "Only the problems of these sets, as in f32,f16")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  std::string cache = "warm";
  app.add_option("--cache", cache, "What the caches hold when a launch begins")
      ->check(CLI::IsMember({"warm", "cold", "rotating"}));
  AddDurationOption(app, "--within", options.within_ns,
                    "Begin no problem after so long, as in 400s; 0: all");
  app.add_option("--db", options.database,
                 "Keep the records here; what it knows already is not tuned again");
  return ChoiceBenchMain(argc, argv, app, options,
                         {.problems =
                              [&] {
                                options.tune.cache = *ParseCacheState(cache);
                                if (options.tune.cache == CacheState::kRotating) {
                                  options.tune.terms.rotation_bytes = kRotationBytes;
                                }
                                return WantedProblems(bench, options);
                              },
                          .run =
                              [&](const Place& place, const std::vector<Problem>& problems) {
                                return Bench(bench, options, place).Run(problems);
                              }});
}

}  // namespace attune
