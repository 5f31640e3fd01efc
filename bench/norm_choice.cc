// Compares attune's choice with oneDNN's first implementation for the batch norms of ResNet-50 and
// MobileNetV2 and the softmaxes of BERT: tunes each, then times both in turns in this process.
//
//   norm_choice [--images 4] [--device cpu] [--per-problem 4s] [--rounds 25] [--only TEXT]
//   [--limit N] [--search NAME] [--json]
//   norm_choice [--images 4] [--only TEXT] [--limit N] --problems
#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/attune/workshop.h"
#include "attune/base/steady_time.h"
#include "attune/measure/statistics.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/softmax/softmax.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/tuner.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "bench/choice_bench.h"
#include "bench/geometric_mean.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kConfidence = 0.99;

struct Options : ChoiceOptions {
  int64_t images = 4;
};

struct Row {
  Problem problem;
  Candidate choice;
  double choice_ns = 0;
  double library_ns = 0;
  bool library_is_wrong = false;  // Its error is beyond attune's bound.
  RatioEstimate speedup;          // oneDNN's time over the choice's, paired by rounds.
};

struct Layer {
  int64_t channels, size;  // Square image.
  bool relu;
};
// The distinct batch norms of the networks, with the activation that follows.
constexpr Layer kResNet50[] = {{64, 112, true}, {64, 56, true},  {256, 56, false},
                               {128, 56, true}, {128, 28, true}, {512, 28, false},
                               {256, 28, true}, {256, 14, true}, {1024, 14, false},
                               {512, 14, true}, {512, 7, true},  {2048, 7, false}};
// ReLU6 is not fused.
constexpr Layer kMobileNetV2[] = {
    {32, 112, false}, {16, 112, false}, {96, 112, false}, {96, 56, false},  {24, 56, false},
    {144, 56, false}, {144, 28, false}, {32, 28, false},  {192, 28, false}, {192, 14, false},
    {64, 14, false},  {384, 14, false}, {96, 14, false},  {576, 14, false}, {576, 7, false},
    {160, 7, false},  {960, 7, false},  {320, 7, false},  {1280, 7, false}};
// Rows and their length: attention of BERT-base (12 heads) and BERT-large (16) over 128, 384 and
// 512 tokens, and the vocabulary of 128 tokens.
constexpr std::pair<int64_t, int64_t> kBert[] = {
    {12 * 128, 128}, {12 * 384, 384}, {12 * 512, 512}, {16 * 384, 384}, {128, 30522}};

void AddBatchNorms(std::span<const Layer> layers, int64_t images, BatchNormLayout layout,
                   std::vector<Problem>& problems) {
  for (const Layer& layer : layers) {
    for (const BatchNormPass pass :
         {BatchNormPass::kTraining, BatchNormPass::kInference, BatchNormPass::kBackward}) {
      BatchNorm norm;
      norm.pass = pass;
      norm.batch = images;
      norm.channels = layer.channels;
      norm.height = norm.width = layer.size;
      norm.layout = layout;
      norm.fusion = layer.relu ? BatchNormFusion::kRelu : BatchNormFusion::kNone;
      norm.running = pass == BatchNormPass::kTraining;
      norm.saved = pass != BatchNormPass::kInference;
      problems.emplace_back(norm);
    }
  }
}

Result<std::vector<Problem>> Problems(const Options& options) {
  std::vector<Problem> problems;
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    AddBatchNorms(kResNet50, options.images, layout, problems);
    AddBatchNorms(kMobileNetV2, options.images, layout, problems);
  }
  for (const auto& [rows, length] : kBert) {
    for (const bool backward : {false, true}) {
      Softmax softmax;
      softmax.outer = rows;
      softmax.length = length;
      softmax.backward = backward;
      softmax.logarithm = length == kBert[std::size(kBert) - 1].second;
      problems.emplace_back(softmax);
    }
  }
  std::erase_if(problems, [&](const Problem& problem) {
    return Text(problem).find(options.only) == std::string::npos;
  });
  return problems;
}

// The first implementation that oneDNN lists for the caller's layout.
Result<Candidate> LibraryCandidate(const Place& place, const Problem& problem) {
  const SolverId id{fmt::format("host.onednn-{}", problem.op().name()), 1};
  const Solver* const solver = FindSolver(place.backend->solvers(), id);
  if (solver == nullptr) return Unavailable("oneDNN is not available here to compare with.");
  ATTUNE_RETURN_IF_ERROR(solver->IsApplicable(problem, place.target));
  ATTUNE_ASSIGN_OR_RETURN(Config config, solver->DefaultConfig(problem, place.target));
  return Candidate{id, std::move(config)};
}

Result<std::unique_ptr<Executable>> Load(const Place& place, Device& device, const Problem& problem,
                                         const Candidate& candidate) {
  const Solver* const solver = FindSolver(place.backend->solvers(), candidate.solver);
  if (solver == nullptr) return NotFound(fmt::format("There is no {}.", Text(candidate)));
  ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                          solver->Recipe(problem, candidate.config, place.target));
  ATTUNE_ASSIGN_OR_RETURN(const Artifact artifact, solver->Build(recipe));
  return solver->Load(artifact, problem, candidate.config, device);
}

// Nanoseconds of one launch by round, for each of `candidates`: a block of each in turn, on the
// same operands. Nothing is verified here, because oneDNN's first implementation is timed even
// where its error is beyond attune's bound.
Result<std::vector<std::vector<double>>> Race(const Place& place, const Problem& problem,
                                              std::span<const Candidate> candidates, int rounds) {
  constexpr int64_t kBlockNs = 2'000'000;
  ATTUNE_ASSIGN_OR_RETURN(const auto device, place.backend->Open(place.device_spec));
  ATTUNE_ASSIGN_OR_RETURN(const ProblemData data, ProblemData::Create(problem, 1));
  ATTUNE_ASSIGN_OR_RETURN(BoundOperands operands, BoundOperands::Create(*device, problem, data));
  std::vector<std::unique_ptr<Executable>> executables;
  for (const Candidate& candidate : candidates) {
    ATTUNE_ASSIGN_OR_RETURN(auto executable, Load(place, *device, problem, candidate));
    ATTUNE_RETURN_IF_ERROR(operands.ReserveWorkspace(executable->workspace_bytes()));
    executables.push_back(std::move(executable));
  }
  ATTUNE_RETURN_IF_ERROR(operands.Reset());
  const auto block_ns = [&](Executable& executable, int64_t launches) -> Result<double> {
    const Arguments arguments = operands.arguments();
    const int64_t begin_ns = SteadyNowNs();
    for (int64_t i = 0; i < launches; ++i) ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
    ATTUNE_RETURN_IF_ERROR(device->Synchronize());
    return static_cast<double>(SteadyNowNs() - begin_ns) / static_cast<double>(launches);
  };
  std::vector<std::vector<double>> samples(executables.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t turn = 0; turn < executables.size(); ++turn) {
      const size_t i = (turn + static_cast<size_t>(round)) % executables.size();
      // The first launch warms up, and tells how many make a block.
      ATTUNE_ASSIGN_OR_RETURN(const double once_ns, block_ns(*executables[i], 1));
      const auto launches = static_cast<int64_t>(static_cast<double>(kBlockNs) / once_ns) + 1;
      ATTUNE_ASSIGN_OR_RETURN(const double ns, block_ns(*executables[i], launches));
      samples[i].push_back(ns);
    }
  }
  return samples;
}

// True if tuning found that `candidate` computes `problem` wrongly.
bool IsWrong(RecordStore& store, const Problem& problem, const Candidate& candidate) {
  bool is_wrong = false;
  RecordQuery query;
  query.problem = problem;
  const Status visited = store.Visit(query, [&](const RecordedSet& recorded) {
    for (const Record& record : recorded.records) {
      is_wrong =
          is_wrong || (record.trial.candidate == candidate && record.trial.failure() != nullptr &&
                       record.trial.failure()->kind == FailureKind::kWrongResult);
    }
    return Status::Ok();
  });
  return visited.ok() && is_wrong;
}

Result<Row> TuneAndRace(const Problem& problem, Tuner& tuner, const Place& place, int rounds) {
  ATTUNE_ASSIGN_OR_RETURN(const Candidate library, LibraryCandidate(place, problem));
  ATTUNE_ASSIGN_OR_RETURN(const TuneReport report, TuneForChoice(tuner, problem));
  Row row;
  row.problem = problem;
  row.choice = report.choice->candidate;
  row.library_is_wrong = IsWrong(*tuner.parts().store, problem, library);
  const Candidate candidates[] = {row.choice, library};
  ATTUNE_ASSIGN_OR_RETURN(const auto samples, Race(place, problem, candidates, rounds));
  row.choice_ns = Median(samples[0]);
  row.library_ns = Median(samples[1]);
  // The difference between two runs of one candidate is noise.
  row.speedup = library == row.choice ? RatioEstimate{1, 1, 1, kConfidence}
                                      : PairedRatio(samples[1], samples[0], kConfidence);
  return row;
}

const Row& WorstOf(const std::vector<Row>& rows) {
  return *std::ranges::min_element(rows, {}, [](const Row& row) { return row.speedup.ratio; });
}

double MeanOf(const std::vector<Row>& rows, std::string_view operator_name) {
  std::vector<double> speedups;
  for (const Row& row : rows) {
    const bool is_wanted = operator_name.empty() || row.problem.op().name() == operator_name;
    if (is_wanted) speedups.push_back(row.speedup.ratio);
  }
  return GeometricMean(speedups);
}

void PrintJson(const std::vector<Row>& rows, const Place& place) {
  const Row& worst = WorstOf(rows);
  Json json = {{"summary",
                {{"geomean", MeanOf(rows, "")},
                 {"geomean_batch_norm", MeanOf(rows, "batch_norm")},
                 {"geomean_softmax", MeanOf(rows, "softmax")},
                 {"worst", worst.speedup.ratio},
                 {"worst_problem", Text(worst.problem)},
                 {"problems", rows.size()},
                 {"target", Text(place.target)}}},
               {"rows", Json::array()}};
  for (const Row& row : rows) {
    json["rows"].push_back({{"problem", Text(row.problem)},
                            {"candidate", Text(row.choice)},
                            {"median_ns", row.choice_ns},
                            {"onednn_ns", row.library_ns},
                            {"onednn_is_wrong", row.library_is_wrong},
                            {"speedup", row.speedup.ratio},
                            {"speedup_low", row.speedup.low},
                            {"speedup_high", row.speedup.high}});
  }
  std::puts(json.dump(2).c_str());
}

void PrintTable(const std::vector<Row>& rows) {
  fmt::print(
      "Medians in microseconds; * where the error of oneDNN is beyond attune's bound.\n{:<70} "
      "{:>9} {:>9} {:>7}  {}\n",
      "problem", "oneDNN", "choice", "speedup", "candidate");
  for (const Row& row : rows) {
    fmt::print("{:<70} {:>9.1f}{} {:>8.1f} {:>7.2f}  {}\n", Text(row.problem),
               row.library_ns / 1000, row.library_is_wrong ? '*' : ' ', row.choice_ns / 1000,
               row.speedup.ratio, Text(row.choice));
  }
  const Row& worst = WorstOf(rows);
  fmt::print("\nGeometric mean over oneDNN's first: {:.3f}; worst: {:.3f} ({}).\n",
             MeanOf(rows, ""), worst.speedup.ratio, Text(worst.problem));
}

Status Run(const Options& options, const std::vector<Problem>& problems, const Place& place) {
  ATTUNE_ASSIGN_OR_RETURN(const auto workshop, Workshop::Open(place, WorkshopLimits{}));
  MemoryStore store;
  Tuner tuner(workshop->PartsFor(store), options.tune);
  std::vector<Row> rows;
  for (const Problem& problem : problems) {
    ATTUNE_ASSIGN_OR_RETURN(Row row, TuneAndRace(problem, tuner, place, options.rounds));
    rows.push_back(std::move(row));
    fmt::print(stderr, "[{}/{}] {} {:.2f} {}\n", rows.size(), problems.size(), Text(problem),
               rows.back().speedup.ratio, Text(rows.back().choice));
  }
  options.json ? PrintJson(rows, place) : PrintTable(rows);
  return Status::Ok();
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  CLI::App app("Times attune's choice of a batch norm or softmax against oneDNN's first.",
               "norm_choice");
  attune::Options options;
  app.add_option("--images", options.images, "Images of every batch norm")
      ->check(CLI::Range(1, 4096));
  return attune::ChoiceBenchMain(
      argc, argv, app, options,
      {.problems = [&options] { return attune::Problems(options); },
       .run =
           [&options](const attune::Place& place, const std::vector<attune::Problem>& problems) {
             return attune::Run(options, problems, place);
           }});
}
