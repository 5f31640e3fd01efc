// How much faster attune's choice is than calling one library for everything: tunes some thirty
// products, then times what was chosen, OpenBLAS and the other libraries again in fresh processes.
//
//   gemm_choice [--device cpu] [--per-problem 4s] [--rounds 25] [--only TEXT] [--search NAME]
//   [--json]
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/workshop.h"
#include "attune/measure/statistics.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/tuner.h"
#include "bench/choice_bench.h"
#include "bench/fresh_race.h"
#include "bench/gemm_choice_shapes.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

// What a program would call that does not choose: each with its own default.
constexpr const char* kLibraries[] = {"host.openblas-gemm", "host.blis-gemm", "host.onednn-gemm",
                                      "host.libxsmm-gemm", "host.eigen-gemm"};
constexpr const char* kBaseline = kLibraries[0];
constexpr double kConfidence = 0.99;

struct Row {
  std::string family;
  Problem problem;
  Candidate choice;
  double choice_ns = 0;
  std::map<std::string, double> library_ns;      // By solver name; absent if it does not apply.
  std::map<std::string, RatioEstimate> speedup;  // Library over choice, paired by rounds.
  int64_t considered = 0;
};

// The default candidate of each library that applies, OpenBLAS first.
std::vector<Candidate> LibraryDefaults(const SolverList& solvers, const Problem& problem,
                                       const Target& target) {
  std::vector<Candidate> defaults;
  for (const char* name : kLibraries) {
    for (const auto& solver : solvers) {
      if (solver->id().name != name || !solver->IsApplicable(problem, target).ok()) continue;
      const auto space = solver->Space(problem, target);
      if (space.ok()) defaults.push_back({solver->id(), space->At(0)});
    }
  }
  return defaults;
}

Result<Row> Race(const NamedGemm& shape, const Choice& choice, const Place& place, int rounds) {
  RacePlan plan;
  plan.device = place.device_spec;
  plan.problem = shape.gemm;
  plan.rounds = rounds;
  plan.candidates = LibraryDefaults(place.backend->solvers(), shape.gemm, place.target);
  plan.candidates.push_back(choice.candidate);
  ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
  Row row;
  row.family = shape.family;
  row.problem = shape.gemm;
  row.choice = choice.candidate;
  if (samples.back().empty()) {
    return Internal(fmt::format("{} failed in the fresh process.", Text(choice.candidate)));
  }
  row.choice_ns = Median(samples.back());
  for (size_t i = 0; i + 1 < plan.candidates.size(); ++i) {
    if (samples[i].empty()) continue;
    const std::string& name = plan.candidates[i].solver.name;
    row.library_ns[name] = Median(samples[i]);
    row.speedup[name] = PairedRatio(samples[i], samples.back(), kConfidence);
    // The choice is this very candidate: whatever the two samples differ in is noise.
    if (plan.candidates[i] == choice.candidate) row.speedup[name] = {1, 1, 1, kConfidence};
  }
  return row;
}

Result<Row> TuneAndRace(const NamedGemm& shape, Tuner& tuner, const Place& place, int rounds) {
  ATTUNE_ASSIGN_OR_RETURN(const TuneReport report, TuneForChoice(tuner, shape.gemm));
  ATTUNE_ASSIGN_OR_RETURN(Row row, Race(shape, *report.choice, place, rounds));
  row.considered = report.considered;
  return row;
}

// Library time over the time of the choice, for every product. Where the library does not apply, a
// program would fall back to the baseline.
std::vector<double> SpeedupsOver(const std::string& library, const std::vector<Row>& rows) {
  std::vector<double> speedups;
  for (const Row& row : rows) {
    const auto found = row.speedup.find(library);
    const auto& used = found != row.speedup.end() ? found->second : row.speedup.at(kBaseline);
    speedups.push_back(used.ratio);
  }
  return speedups;
}

struct Summary {
  double geomean_over_openblas = 0;
  double geomean_over_best_single_library = 0;
  double worst = 0;
  std::string best_single_library;
  std::string worst_problem;
};

Summary Summarize(const std::vector<Row>& rows) {
  Summary summary;
  const std::vector<double> over_openblas = SpeedupsOver(kBaseline, rows);
  summary.geomean_over_openblas = GeometricMean(over_openblas);
  const auto worst = std::min_element(over_openblas.begin(), over_openblas.end());
  summary.worst = *worst;
  summary.worst_problem = Text(rows[static_cast<size_t>(worst - over_openblas.begin())].problem);
  for (const char* library : kLibraries) {
    const double geomean = GeometricMean(SpeedupsOver(library, rows));
    if (!summary.best_single_library.empty() &&
        geomean >= summary.geomean_over_best_single_library) {
      continue;
    }
    summary.best_single_library = library;
    summary.geomean_over_best_single_library = geomean;
  }
  return summary;
}

Json ToJson(const Row& row) {
  Json json = {{"family", row.family},
               {"problem", Text(row.problem)},
               {"candidate", Text(row.choice)},
               {"median_ns", row.choice_ns},
               {"gflops", Flops(row.problem) / row.choice_ns},
               {"considered", row.considered},
               {"libraries", Json::object()}};
  for (const auto& [name, time_ns] : row.library_ns) {
    const RatioEstimate& speedup = row.speedup.at(name);
    json["libraries"][name] = {{"median_ns", time_ns},
                               {"speedup", speedup.ratio},
                               {"speedup_low", speedup.low},
                               {"speedup_high", speedup.high}};
  }
  return json;
}

void PrintJson(const std::vector<Row>& rows, const Summary& summary, const Place& place) {
  Json json = {{"summary",
                {{"geomean_over_openblas", summary.geomean_over_openblas},
                 {"geomean_over_best_single_library", summary.geomean_over_best_single_library},
                 {"worst", summary.worst},
                 {"best_single_library", summary.best_single_library},
                 {"worst_problem", summary.worst_problem},
                 {"target", Text(place.target)}}},
               {"rows", Json::array()}};
  for (const Row& row : rows) json["rows"].push_back(ToJson(row));
  std::puts(json.dump(2).c_str());
}

std::string TimeCell(const Row& row, const char* library) {
  const auto found = row.library_ns.find(library);
  return found == row.library_ns.end() ? "-" : fmt::format("{:.1f}", found->second / 1000);
}

void PrintTable(const std::vector<Row>& rows, const Summary& summary) {
  fmt::print("Medians in microseconds, each library with its default on all threads.\n");
  fmt::print("{:<34} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {}\n", "problem", "openblas",
             "blis", "onednn", "libxsmm", "eigen", "choice", "speedup", "candidate");
  for (const Row& row : rows) {
    const Gemm& gemm = std::get<Gemm>(row.problem);
    std::string shape = fmt::format("{} {}x{}x{}", row.family, gemm.m, gemm.n, gemm.k);
    if (gemm.trans_a == Transpose::kYes) shape += " A^T";
    if (gemm.trans_b == Transpose::kYes) shape += " B^T";
    if (gemm.batch_count > 1) shape += fmt::format(" by {}", gemm.batch_count);
    fmt::print("{:<34}", shape);
    for (const char* library : kLibraries) fmt::print(" {:>9}", TimeCell(row, library));
    fmt::print(" {:>9.1f} {:>7.2f}  {}\n", row.choice_ns / 1000, row.speedup.at(kBaseline).ratio,
               Text(row.choice));
  }
  fmt::print(
      "\nGeometric mean over OpenBLAS: {:.3f}; over {}, the best single library: {:.3f}; "
      "worst: {:.3f} ({}).\n",
      summary.geomean_over_openblas, summary.best_single_library,
      summary.geomean_over_best_single_library, summary.worst, summary.worst_problem);
}

bool IsWanted(const NamedGemm& shape, const std::string& only) {
  return only.empty() || shape.family == only ||
         Text(Problem(shape.gemm)).find(only) != std::string::npos;
}

Result<std::vector<Row>> RunAll(const ChoiceOptions& options, const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const auto workshop, Workshop::Open(place, WorkshopLimits{}));
  MemoryStore store;
  Tuner tuner(workshop->PartsFor(store), options.tune);
  std::vector<NamedGemm> shapes = GemmChoiceShapes();
  std::erase_if(shapes, [&](const NamedGemm& shape) { return !IsWanted(shape, options.only); });
  std::vector<Row> rows;
  for (const NamedGemm& shape : shapes) {
    ATTUNE_ASSIGN_OR_RETURN(Row row, TuneAndRace(shape, tuner, place, options.rounds));
    if (row.speedup.count(kBaseline) == 0) {
      return Unavailable(
          "OpenBLAS is not installed here, and it is what the figures compare with.");
    }
    rows.push_back(std::move(row));
    fmt::print(stderr, "[{}/{}] {} {:.2f} {} ({} candidates)\n", rows.size(), shapes.size(),
               Text(rows.back().problem), rows.back().speedup.at(kBaseline).ratio,
               Text(rows.back().choice), rows.back().considered);
  }
  return rows;
}

Status Run(const ChoiceOptions& options, const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Row> rows, RunAll(options, place));
  if (rows.empty()) return NotFound(fmt::format("No problem matches '{}'.", options.only));
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
  CLI::App app("Times attune's choice of a matrix product against single libraries.",
               "gemm_choice");
  attune::ChoiceOptions options;
  return attune::ChoiceBenchMain(argc, argv, app, options, [&options](const attune::Place& place) {
    return attune::Run(options, place);
  });
}
