// Times of cuDNN's ways to compute convolutions drawn at random, on an NVIDIA GPU, with the
// launches that a dry run reports and the answers of cuDNN's heuristics: the legacy call, and modes
// A and B of the graph API. `models --collected FILE` fits models to them.
//
//   cuda_conv_times --into FILE [--layers N] [--type f32|tf32|f16] [--seed N] [--rounds 9]
//                   [--within TIME]
//
// FILE gets a line for each layer (models/collected_layer.h). Layers that it already has are not
// timed again, so that an interrupted run resumes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/attune/verbs.h"
#include "attune/base/random.h"
#include "attune/base/steady_time.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/compile/dry_run_launches.h"
#include "attune/kernel/kernel_library.h"
#include "attune/measure/statistics.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/cudnn_conv_graph.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/cuda_device.h"
#include "bench/figures.h"
#include "bench/fresh_race.h"
#include "bench/models/collected_layer.h"

namespace attune {
namespace {

using bench::CollectedCandidate;
using bench::CollectedLayer;

struct Options {
  std::string into;
  int layers = 100;
  std::string type = "f32";
  uint64_t seed = 1;
  int rounds = 9;
  int64_t within_ns = 0;  // No layer is begun after so long; 0: all are.
};

constexpr const char* kDevice = "cuda:0";
constexpr const char* kLegacySolver = "cuda.cudnn-conv";
constexpr const char* kGraphSolver = "cuda.cudnn-graph-conv";
constexpr int64_t kBatches[] = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr int64_t kChannels[] = {3, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
constexpr int64_t kFilters[] = {1, 1, 3, 3, 3, 5, 7};
constexpr double kShortestSide = 7;
constexpr double kLongestSide = 224;
// Larger ones take longer to check than to learn from.
constexpr double kMostFlops = 2e11;
constexpr size_t kMostBytes = size_t{1} << 30;  // For an operand.

template <size_t kCount>
int64_t OneOf(const int64_t (&values)[kCount], Random& random) {
  return values[random.Below(kCount)];
}

// Sides are uniform in their logarithm, as layers of networks about are.
Problem RandomLayer(const std::string& type, Random& random) {
  while (true) {
    Conv conv;
    conv.batch = OneOf(kBatches, random);
    conv.in_channels = OneOf(kChannels, random);
    conv.out_channels = OneOf(kChannels, random);
    const auto side = static_cast<int64_t>(
        kShortestSide * std::pow(kLongestSide / kShortestSide, random.Uniform()));
    const int64_t filter = OneOf(kFilters, random);
    const int64_t pad = random.Below(3) > 0 ? filter / 2 : 0;
    const int64_t stride = random.Below(4) > 0 ? 1 : 2;
    conv.in = {1, side, side};
    conv.filter = {1, filter, filter};
    conv.pad = {0, pad, pad};
    conv.stride = {1, stride, stride};
    conv.type = type == "f16" ? DataType::kF16 : DataType::kF32;
    conv.math = type == "tf32" ? MathMode::kTf32 : MathMode::kStrict;
    if (!Validate(conv).ok()) continue;
    const Problem problem = conv;
    const std::vector<Operand> operands = Operands(problem);
    const bool is_small = std::ranges::all_of(
        operands, [](const Operand& operand) { return SpanBytes(operand.tensor) <= kMostBytes; });
    if (is_small && Flops(problem) <= kMostFlops) return problem;
  }
}

class Collector {
 public:
  explicit Collector(const Options& options) : options_(options) {
    auto opened = backend_->Open(kDevice);
    Require(opened.status());
    device_ = std::move(*opened);
    auto launches = DryRunLaunches::Create(backend_->solvers(), *device_, *kernels_.cache);
    Require(launches.status());
    launches_ = std::move(*launches);
    Require(cudnn_.available() ? Status::Ok() : Unavailable(cudnn_.report().missing));
  }

  Result<CollectedLayer> Collect(const Problem& problem) {
    CollectedLayer layer;
    layer.device = device_->target().device;
    layer.multiprocessors = device_->target().compute_units;
    layer.library = fmt::format("{} {}", cudnn_.report().name, cudnn_.report().version);
    layer.problem = problem;
    RacePlan plan{
        .device = kDevice, .problem = problem, .candidates = {}, .rounds = options_.rounds};
    const auto place_of = [&](Candidate candidate) {
      const auto found = std::ranges::find(plan.candidates, candidate);
      const size_t place = static_cast<size_t>(found - plan.candidates.begin());
      if (found == plan.candidates.end()) plan.candidates.push_back(std::move(candidate));
      return place;
    };
    const Solver& legacy = SolverNamed(kLegacySolver);
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> listed, legacy.ListOn(*device_, problem));
    for (const Config& config : listed) place_of({legacy.id(), config});
    std::map<std::string, size_t> answers;
    ATTUNE_ASSIGN_OR_RETURN(answers, AnswersOfGraphs(problem, place_of));
    const size_t choices = plan.candidates.size();
    // An alias of one of the above, timed under the name that callers use.
    ATTUNE_ASSIGN_OR_RETURN(Config first, legacy.DefaultConfig(problem, device_->target()));
    answers["vendor"] = place_of({legacy.id(), std::move(first)});
    ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
    for (size_t i = 0; i < choices; ++i) {
      layer.candidates.push_back(Collected(problem, plan.candidates[i], samples[i]));
    }
    for (const auto& [heuristic, place] : answers) {
      layer.heuristics[heuristic] = Collected(problem, plan.candidates[place], samples[place]);
    }
    return layer;
  }

 private:
  const Solver& SolverNamed(std::string_view name) const {
    for (const auto& solver : backend_->solvers()) {
      if (solver->id().name == name) return *solver;
    }
    Require(NotFound(fmt::format("Solver {} does not exist here.", name)));
    std::abort();
  }

  // The first answers of modes A and B; a mode that has none is left out.
  template <class PlaceOf>
  Result<std::map<std::string, size_t>> AnswersOfGraphs(const Problem& problem,
                                                        const PlaceOf& place_of) {
    auto* const cuda = dynamic_cast<cuda::CudaDevice*>(device_.get());
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.HandleOf(cuda->stream()));
    ATTUNE_ASSIGN_OR_RETURN(const cuda::CudnnGraph graph,
                            cuda::MakeCudnnConvGraph(cudnn_, handle, problem.Get<Conv>()));
    const SolverId id = SolverNamed(kGraphSolver).id();
    std::map<std::string, size_t> answers;
    for (const auto& [heuristic, mode] :
         {std::pair{"vendor_a", CUDNN_HEUR_MODE_A}, std::pair{"vendor_b", CUDNN_HEUR_MODE_B}}) {
      ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> configs, graph.RecommendationsOf(mode));
      if (!configs.empty()) answers[heuristic] = place_of({id, configs.front()});
    }
    return answers;
  }

  CollectedCandidate Collected(const Problem& problem, const Candidate& candidate,
                               const std::vector<double>& samples_ns) const {
    CollectedCandidate collected;
    collected.candidate = Text(candidate);
    if (samples_ns.empty()) return collected;
    collected.time_ms = Median(samples_ns) / 1e6;
    const auto profile = launches_->Find(problem, candidate);
    if (!profile.has_value()) return collected;
    collected.kernels = std::ssize(profile->kernels);
    if (profile->kernels.size() <= bench::kMostKernels) collected.launches = profile->kernels;
    return collected;
  }

  const Options& options_;
  const OpenedKernelCache kernels_ = OpenDefaultKernelCache();
  const std::unique_ptr<const Backend> backend_ = cuda::CudaBackend(kernel::KernelFolders());
  const cuda::Cudnn cudnn_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DryRunLaunches> launches_;
};

// Texts of the layers that the file has.
std::set<std::string> Known(const std::string& path) {
  std::set<std::string> known;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto layer = bench::ParseCollectedLayer(line);
    Require(layer.status().WithContext(path));
    known.insert(Text(layer->problem));
  }
  return known;
}

int Run(const Options& options) {
  std::set<std::string> known = Known(options.into);
  std::ofstream file(options.into, std::ios::app);
  Collector collector(options);
  Random random(options.seed);
  const int64_t end_ns = options.within_ns > 0 ? SteadyNowNs() + options.within_ns : INT64_MAX;
  int failed = 0;
  for (int i = 0; i < options.layers && SteadyNowNs() < end_ns; ++i) {
    const Problem problem = RandomLayer(options.type, random);
    if (!known.insert(Text(problem)).second) continue;
    const auto layer = collector.Collect(problem);
    if (!layer.ok()) {
      ++failed;
      fmt::print(stderr, "[{}/{}] {}: {}\n", i + 1, options.layers, Text(problem),
                 layer.status().ToString());
      continue;
    }
    file << bench::LineOf(*layer) << '\n' << std::flush;
    Require(file ? Status::Ok() : Unavailable("Cannot write " + options.into + "."));
    fmt::print(stderr, "[{}/{}] {}: {} candidates\n", i + 1, options.layers, Text(problem),
               layer->candidates.size());
  }
  return failed > 0 ? 3 : 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (const auto served = attune::MaybeServeRace(argc, argv)) return *served;
  attune::Options options;
  CLI::App app("Times of cuDNN's ways to compute convolutions drawn at random");
  app.add_option("--into", options.into, "The file that gets a line for each layer")->required();
  app.add_option("--layers", options.layers, "How many")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--type", options.type, "Of operands and products")
      ->check(CLI::IsMember({"f32", "tf32", "f16"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the layers")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Blocks timed of each candidate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  attune::AddDurationOption(app, "--within", options.within_ns,
                            "Begin no layer after so long (default: no limit)");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
