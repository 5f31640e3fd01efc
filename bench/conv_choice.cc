// How much faster attune's choice is than oneDNN's own one for the convolutions of ResNet-50 and
// VGG-16: tunes every layer in all three directions, then times what was chosen against oneDNN's
// first implementation, with layouts left to it and with the caller's, in fresh processes. Reorders
// are part of every time.
//
//   conv_choice [--list FILE]... [--batch-size 4] [--device cpu] [--per-problem 4s] [--rounds 25]
//   [--only TEXT] [--limit N] [--search NAME] [--json]
//   conv_choice [--list FILE]... [--batch-size 4] [--only TEXT] [--limit N] --problems
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/workshop.h"
#include "attune/base/file.h"
#include "attune/formats/problem_list.h"
#include "attune/measure/statistics.h"
#include "attune/ops/conv/conv.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/tuner.h"
#include "bench/choice_bench.h"
#include "bench/fresh_race.h"
#include "bench/geometric_mean.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLibrarySolver = "host.onednn-conv";
constexpr const char* kOwnSolver = "host.direct-conv";
constexpr double kConfidence = 0.99;

struct Options : ChoiceOptions {
  std::vector<std::string> lists = {ATTUNE_DRIVER_LISTS "/resnet50.txt",
                                    ATTUNE_DRIVER_LISTS "/vgg16.txt"};
  int64_t batch_size = 4;
};

// One candidate beside the choice.
struct Rival {
  Candidate candidate;
  double median_ns = 0;   // 0 if it failed or does not exist.
  RatioEstimate speedup;  // Rival over choice, paired by rounds.
};

struct Row {
  Problem problem;
  Candidate choice;
  double choice_ns = 0;
  Rival any;    // oneDNN's first implementation, layouts left to it.
  Rival plain;  // Its first one on the caller's layouts.
  Rival own;    // The fastest configuration of our direct kernel that tuning found.
  int64_t considered = 0;
};

const Solver* SolverCalled(const SolverList& solvers, std::string_view name) {
  for (const auto& solver : solvers) {
    if (solver->id().name == name) return solver.get();
  }
  return nullptr;
}

// The first config of oneDNN's space, or the first with the caller's layout.
std::optional<Candidate> LibraryCandidate(const Place& place, const Problem& problem, bool plain) {
  const Solver* solver = SolverCalled(place.backend->solvers(), kLibrarySolver);
  if (solver == nullptr) return std::nullopt;
  const auto space = solver->Space(problem, place.target);
  if (!space.ok()) return std::nullopt;
  for (uint64_t i = 0; i < space->size(); ++i) {
    const Config config = space->At(i);
    if (!plain || StringAt(config, "layout") == "plain") return Candidate{solver->id(), config};
  }
  return std::nullopt;
}

// Races the choice against its rivals and fills their times in.
Status Race(const Place& place, int rounds, Row& row) {
  RacePlan plan{.device = place.device_spec,
                .problem = row.problem,
                .candidates = {row.choice},
                .rounds = rounds};
  std::vector<Rival*> rivals;
  for (Rival* rival : {&row.any, &row.plain, &row.own}) {
    if (rival->candidate.solver.name.empty()) continue;
    rivals.push_back(rival);
    plan.candidates.push_back(rival->candidate);
  }
  ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
  if (samples[0].empty()) {
    return Internal(fmt::format("{} failed in the fresh process.", Text(row.choice)));
  }
  row.choice_ns = Median(samples[0]);
  for (size_t i = 0; i < rivals.size(); ++i) {
    if (samples[i + 1].empty()) continue;
    rivals[i]->median_ns = Median(samples[i + 1]);
    rivals[i]->speedup = PairedRatio(samples[i + 1], samples[0], kConfidence);
    // The rival is the choice itself: any difference of the two samples is noise.
    if (rivals[i]->candidate == row.choice) rivals[i]->speedup = {1, 1, 1, kConfidence};
  }
  return Status::Ok();
}

Result<Row> TuneAndRace(const Problem& problem, Tuner& tuner, const Place& place, int rounds) {
  ATTUNE_ASSIGN_OR_RETURN(const TuneReport report, TuneForChoice(tuner, problem));
  Row row;
  row.problem = problem;
  row.choice = report.choice->candidate;
  row.considered = report.considered;
  if (auto found = LibraryCandidate(place, problem, false)) row.any.candidate = *found;
  if (auto found = LibraryCandidate(place, problem, true)) row.plain.candidate = *found;
  if (auto found = BestTried(kOwnSolver, *tuner.parts().store, problem)) row.own.candidate = *found;
  ATTUNE_RETURN_IF_ERROR(Race(place, rounds, row));
  if (row.any.median_ns == 0) {
    return Unavailable("oneDNN is not available here, and it is what the figures compare with.");
  }
  return row;
}

Result<std::vector<Problem>> ReadProblems(const Options& options) {
  std::vector<Problem> problems;
  for (const std::string& path : options.lists) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
    ProblemListOptions reading;
    reading.batch_size = options.batch_size;
    for (const ListedProblem& listed : ReadProblemList(content, reading).problems) {
      const bool wanted =
          listed.problem.Is<Conv>() && listed.text.find(options.only) != std::string::npos;
      const bool known =
          std::find(problems.begin(), problems.end(), listed.problem) != problems.end();
      if (wanted && !known) problems.push_back(listed.problem);
    }
  }
  if (problems.empty()) return NotFound(fmt::format("No convolution matches '{}'.", options.only));
  return problems;
}

// Over the rows that have the rival.
double GeometricMeanOf(const std::vector<Row>& rows, Rival Row::*rival) {
  std::vector<double> speedups;
  for (const Row& row : rows) {
    if ((row.*rival).median_ns > 0) speedups.push_back((row.*rival).speedup.ratio);
  }
  return GeometricMean(speedups);
}

struct Summary {
  double geomean_over_onednn_any = 0;
  double geomean_over_onednn_plain = 0;
  double geomean_over_own = 0;  // Over our own direct kernel alone, where it was timed.
  double worst = 0;
  std::string worst_problem;
};

Summary Summarize(const std::vector<Row>& rows) {
  Summary summary;
  summary.geomean_over_onednn_any = GeometricMeanOf(rows, &Row::any);
  summary.geomean_over_onednn_plain = GeometricMeanOf(rows, &Row::plain);
  summary.geomean_over_own = GeometricMeanOf(rows, &Row::own);
  const auto worst = std::min_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.any.speedup.ratio < b.any.speedup.ratio;
  });
  summary.worst = worst->any.speedup.ratio;
  summary.worst_problem = Text(worst->problem);
  return summary;
}

Json ToJson(const Rival& rival) {
  if (rival.median_ns == 0) return nullptr;
  return {{"candidate", Text(rival.candidate)},
          {"median_ns", rival.median_ns},
          {"speedup", rival.speedup.ratio},
          {"speedup_low", rival.speedup.low},
          {"speedup_high", rival.speedup.high}};
}

void PrintJson(const std::vector<Row>& rows, const Summary& summary, const Place& place) {
  Json json = {{"summary",
                {{"geomean_over_onednn_any", summary.geomean_over_onednn_any},
                 {"geomean_over_onednn_plain", summary.geomean_over_onednn_plain},
                 {"geomean_over_direct_conv", summary.geomean_over_own},
                 {"worst", summary.worst},
                 {"worst_problem", summary.worst_problem},
                 {"problems", rows.size()},
                 {"target", Text(place.target)}}},
               {"rows", Json::array()}};
  for (const Row& row : rows) {
    json["rows"].push_back({{"problem", Text(row.problem)},
                            {"candidate", Text(row.choice)},
                            {"median_ns", row.choice_ns},
                            {"gflops", Flops(row.problem) / row.choice_ns},
                            {"considered", row.considered},
                            {"onednn_any", ToJson(row.any)},
                            {"onednn_plain", ToJson(row.plain)},
                            {"direct_conv", ToJson(row.own)}});
  }
  std::puts(json.dump(2).c_str());
}

std::string ShapeCell(const Problem& problem) {
  const Conv& conv = problem.Get<Conv>();
  const char* const directions[] = {"fwd", "bwd", "wrw"};
  return fmt::format("{} {}x{}x{}x{} k{} {}x{} s{}", directions[static_cast<int>(conv.direction)],
                     conv.batch, conv.in_channels, conv.in[1], conv.in[2], conv.out_channels,
                     conv.filter[1], conv.filter[2], conv.stride[2]);
}

std::string TimeCell(const Rival& rival) {
  return rival.median_ns == 0 ? "-" : fmt::format("{:.0f}", rival.median_ns / 1000);
}

void PrintTable(const std::vector<Row>& rows, const Summary& summary) {
  fmt::print("Medians in microseconds, reorders included.\n");
  fmt::print("{:<34} {:>9} {:>9} {:>9} {:>9} {:>8} {:>7}  {}\n", "problem", "1dnn any",
             "1dnn plain", "own", "choice", "GFLOP/s", "speedup", "candidate");
  for (const Row& row : rows) {
    fmt::print("{:<34} {:>9} {:>10} {:>9} {:>9.0f} {:>8.0f} {:>7.2f}  {}\n", ShapeCell(row.problem),
               TimeCell(row.any), TimeCell(row.plain), TimeCell(row.own), row.choice_ns / 1000,
               Flops(row.problem) / row.choice_ns, row.any.speedup.ratio, Text(row.choice));
  }
  fmt::print(
      "\nGeometric mean over oneDNN with layouts any: {:.3f}; with the caller's: {:.3f}; over "
      "{}: {:.3f}; worst over any: {:.3f} ({}).\n",
      summary.geomean_over_onednn_any, summary.geomean_over_onednn_plain, kOwnSolver,
      summary.geomean_over_own, summary.worst, summary.worst_problem);
}

Result<std::vector<Row>> RunAll(const Options& options, const std::vector<Problem>& problems,
                                const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const auto workshop, Workshop::Open(place, WorkshopLimits{}));
  MemoryStore store;
  Tuner tuner(workshop->PartsFor(store), options.tune);
  std::vector<Row> rows;
  for (const Problem& problem : problems) {
    ATTUNE_ASSIGN_OR_RETURN(Row row, TuneAndRace(problem, tuner, place, options.rounds));
    rows.push_back(std::move(row));
    fmt::print(stderr, "[{}/{}] {} {:.2f} {} ({} candidates)\n", rows.size(), problems.size(),
               ShapeCell(problem), rows.back().any.speedup.ratio, Text(rows.back().choice),
               rows.back().considered);
  }
  return rows;
}

Status Run(const Options& options, const std::vector<Problem>& problems, const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Row> rows, RunAll(options, problems, place));
  const Summary summary = Summarize(rows);
  if (options.json) {
    PrintJson(rows, summary, place);
  } else {
    PrintTable(rows, summary);
  }
  return Status::Ok();
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  CLI::App app("Times attune's choice of a convolution against oneDNN's own.", "conv_choice");
  attune::Options options;
  app.add_option("--list", options.lists, "Files of problems instead of ResNet-50 and VGG-16");
  app.add_option("--batch-size", options.batch_size, "Images of every problem")
      ->check(CLI::Range(1, 4096));
  return attune::ChoiceBenchMain(
      argc, argv, app, options,
      {.problems = [&options] { return attune::ReadProblems(options); },
       .run =
           [&options](const attune::Place& place, const std::vector<attune::Problem>& problems) {
             return attune::Run(options, problems, place);
           }});
}
