// How much faster attune's choice is than calling one library for everything: tunes some thirty
// products, then times what was chosen, OpenBLAS and the other libraries again in fresh processes.
//
//   gemm_choice [--device cpu] [--per-problem 4s] [--rounds 25] [--only TEXT] [--search NAME]
//   [--json]
//   gemm_choice [--only TEXT] --problems
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/workshop.h"
#include "attune/measure/statistics.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/tuner.h"
#include "bench/choice_bench.h"
#include "bench/fresh_race.h"
#include "bench/gemm_choice_shapes.h"
#include "bench/gemm_choice_summary.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kConfidence = 0.99;

// The default candidate of each library that applies, OpenBLAS first.
std::vector<Candidate> LibraryDefaults(const SolverList& solvers, const Problem& problem,
                                       const Target& target) {
  std::vector<Candidate> defaults;
  for (const char* name : kGemmLibraries) {
    for (const auto& solver : solvers) {
      if (solver->id().name != name || !solver->IsApplicable(problem, target).ok()) continue;
      const auto space = solver->Space(problem, target);
      if (space.ok()) defaults.push_back({solver->id(), space->At(0)});
    }
  }
  return defaults;
}

Result<GemmChoiceRow> Race(const NamedGemm& shape, const Choice& choice, const Place& place,
                           int rounds) {
  RacePlan plan;
  plan.device = place.device_spec;
  plan.problem = shape.gemm;
  plan.rounds = rounds;
  plan.candidates = LibraryDefaults(place.backend->solvers(), shape.gemm, place.target);
  plan.candidates.push_back(choice.candidate);
  ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
  GemmChoiceRow row;
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
    // The choice is this very candidate: any difference of the two samples is noise.
    if (plan.candidates[i] == choice.candidate) row.speedup[name] = {1, 1, 1, kConfidence};
  }
  return row;
}

Result<GemmChoiceRow> TuneAndRace(const NamedGemm& shape, Tuner& tuner, const Place& place,
                                  int rounds) {
  ATTUNE_ASSIGN_OR_RETURN(const TuneReport report, TuneForChoice(tuner, shape.gemm));
  ATTUNE_ASSIGN_OR_RETURN(GemmChoiceRow row, Race(shape, *report.choice, place, rounds));
  row.considered = report.considered;
  return row;
}

Json ToJson(const GemmChoiceRow& row) {
  Json json = {{"family", row.family},
               {"problem", Text(row.problem)},
               {"candidate", Text(row.choice)},
               {"median_ns", row.choice_ns},
               {"gflops", Flops(row.problem) / row.choice_ns},
               {"considered", row.considered},
               {"fastest_library", FastestLibrary(row)},
               {"over_fastest_library", row.speedup.at(FastestLibrary(row)).ratio},
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

void PrintJson(const std::vector<GemmChoiceRow>& rows, const GemmChoiceSummary& summary,
               const Place& place) {
  Json json = {{"summary",
                {{"geomean_over_openblas", summary.geomean_over_openblas},
                 {"geomean_over_best_single_library", summary.geomean_over_best_single_library},
                 {"geomean_over_best_library_of_shape", summary.geomean_over_best_library_of_shape},
                 {"worst", summary.worst},
                 {"best_single_library", summary.best_single_library},
                 {"worst_problem", summary.worst_problem},
                 {"target", Text(place.target)}}},
               {"rows", Json::array()}};
  for (const GemmChoiceRow& row : rows) json["rows"].push_back(ToJson(row));
  std::puts(json.dump(2).c_str());
}

std::string TimeCell(const GemmChoiceRow& row, const char* library) {
  const auto found = row.library_ns.find(library);
  return found == row.library_ns.end() ? "-" : fmt::format("{:.1f}", found->second / 1000);
}

void PrintTable(const std::vector<GemmChoiceRow>& rows, const GemmChoiceSummary& summary) {
  fmt::print(
      "Medians in microseconds, each library with its default on all threads. Speed-ups are over "
      "OpenBLAS and over the best library of this shape.\n");
  fmt::print("{:<34} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9}  {}\n", "problem", "openblas",
             "blis", "onednn", "libxsmm", "eigen", "choice", "speedup", "over best", "candidate");
  for (const GemmChoiceRow& row : rows) {
    const Gemm& gemm = row.problem.Get<Gemm>();
    std::string shape = fmt::format("{} {}x{}x{}", row.family, gemm.m, gemm.n, gemm.k);
    if (gemm.trans_a == Transpose::kYes) shape += " A^T";
    if (gemm.trans_b == Transpose::kYes) shape += " B^T";
    if (gemm.batch_count > 1) shape += fmt::format(" by {}", gemm.batch_count);
    fmt::print("{:<34}", shape);
    for (const char* library : kGemmLibraries) fmt::print(" {:>9}", TimeCell(row, library));
    fmt::print(" {:>9.1f} {:>7.2f} {:>9.2f}  {}\n", row.choice_ns / 1000,
               row.speedup.at(kGemmBaseline).ratio, row.speedup.at(FastestLibrary(row)).ratio,
               Text(row.choice));
  }
  fmt::print(
      "\nGeometric mean over OpenBLAS: {:.3f}; over {}, the best single library: {:.3f}; "
      "over the best library of each shape: {:.3f}; worst over OpenBLAS: {:.3f} ({}).\n",
      summary.geomean_over_openblas, summary.best_single_library,
      summary.geomean_over_best_single_library, summary.geomean_over_best_library_of_shape,
      summary.worst, summary.worst_problem);
}

bool IsWanted(const NamedGemm& shape, const std::string& only) {
  return only.empty() || shape.family == only ||
         Text(Problem(shape.gemm)).find(only) != std::string::npos;
}

std::vector<NamedGemm> WantedShapes(const std::string& only) {
  std::vector<NamedGemm> shapes = GemmChoiceShapes();
  std::erase_if(shapes, [&](const NamedGemm& shape) { return !IsWanted(shape, only); });
  return shapes;
}

Result<std::vector<GemmChoiceRow>> RunAll(const ChoiceOptions& options,
                                          const std::vector<NamedGemm>& shapes,
                                          const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const auto workshop, Workshop::Open(place, WorkshopLimits{}));
  MemoryStore store;
  Tuner tuner(workshop->PartsFor(store), options.tune);
  std::vector<GemmChoiceRow> rows;
  for (const NamedGemm& shape : shapes) {
    ATTUNE_ASSIGN_OR_RETURN(GemmChoiceRow row, TuneAndRace(shape, tuner, place, options.rounds));
    if (row.speedup.count(kGemmBaseline) == 0) {
      return Unavailable(
          "OpenBLAS is not installed here, and it is what the figures compare with.");
    }
    rows.push_back(std::move(row));
    fmt::print(stderr, "[{}/{}] {} {:.2f} {} ({} candidates)\n", rows.size(), shapes.size(),
               Text(rows.back().problem), rows.back().speedup.at(kGemmBaseline).ratio,
               Text(rows.back().choice), rows.back().considered);
  }
  return rows;
}

std::vector<Problem> WantedProblems(const std::string& only) {
  std::vector<Problem> problems;
  for (const NamedGemm& shape : WantedShapes(only)) problems.push_back(shape.gemm);
  return problems;
}

Status Run(const ChoiceOptions& options, const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<GemmChoiceRow> rows,
                          RunAll(options, WantedShapes(options.only), place));
  const GemmChoiceSummary summary = Summarize(rows);
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
  return attune::ChoiceBenchMain(
      argc, argv, app, options,
      {.problems = [&options] { return attune::WantedProblems(options.only); },
       .run = [&options](
                  const attune::Place& place,
                  const std::vector<attune::Problem>&) { return attune::Run(options, place); }});
}
