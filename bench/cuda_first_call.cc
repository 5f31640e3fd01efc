// The cost of the first convolution of a new image size on an NVIDIA GPU: from the call to the end
// of its work on the device, with nothing tuned and nothing compiled. Beside it: later calls of the
// same, the first choice of cuDNN's legacy calls, the best of all their algorithms, the tuned
// choice, and the roofline. Also the device time of a launch, which tuning compares, for the first
// candidate that serves, for its replacement, and for the tuned choice. `cuda_first_call.py` does
// the same through PyTorch, except for device times.
//
//   cuda_first_call [--pictures N] [--tuned N] [--type f32|f16] [--policy never|deferred]
//                   [--per-problem-ms N] [--seed N] [--db FILE] [--known FILE] [--steps] [--json]
//
// `--db` keeps tuned choices, and a later run with it tunes only missing ones. `--known` is a
// database of other problems: its records and the model beside them serve the first calls. With the
// policy deferred, new choices are stored there, too.
// `--steps` shows the parts of a first call: twice as many other images, of which one half warms
// up, through cuDNN with a clock around each of its calls, and by attune's own kernel for tensor
// cores.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"
#include "backends/cuda/driver/driver.h"
#include "bench/cuda_calls.h"
#include "bench/figures.h"
#include "bench/first_call_steps.h"
#include "bench/fresh_race.h"
#include "bench/geometric_mean.h"
#include "bench/vendor_bounds.h"
#include "include/attune/attune.h"
#include "runtime/places.h"

namespace attune {
namespace {

struct Options {
  int pictures = 60;
  int tuned = 20;
  std::string type = "f32";
  std::string policy = "never";
  int per_problem_ms = 3000;
  uint64_t seed = 1;
  std::string database;  // For tuned choices; empty: a fresh one.
  std::string known;     // Records for the first runtime that is called; empty: none.
  bool tells_steps = false;
  bool as_json = false;
};

constexpr int kPairs = 51;  // Calls by turns: the untuned candidate and the tuned one.
constexpr const char* kVendorSolver = "cuda.cudnn-conv";  // cuDNN's first answer is its default.
constexpr const char* kForce = "ATTUNE_FORCE";
constexpr const char* kMatrixSolver = "cuda.cublaslt-gemm";

// A layer of a network for images, and the factor by which earlier layers shrink them.
struct Layer {
  int64_t in_channels, out_channels, filter, stride, shrunk;
};
constexpr Layer kLayers[] = {{3, 64, 7, 2, 1},      {64, 64, 3, 1, 4},    {64, 256, 1, 1, 4},
                             {128, 128, 3, 1, 8},   {256, 512, 1, 2, 4},  {256, 256, 3, 1, 16},
                             {1024, 256, 1, 1, 16}, {512, 512, 3, 1, 32}, {32, 32, 5, 1, 4}};
constexpr int64_t kShortestSide = 160;
constexpr int64_t kLongestSide = 800;
constexpr int kAlignment = 256;  // In bytes, of cuMemAlloc's results.

attune_conv RandomConv(Random& random, const std::string& type) {
  const auto side = [&] {
    return kShortestSide +
           static_cast<int64_t>(random.Below(uint64_t{kLongestSide - kShortestSide + 1}));
  };
  const Layer& layer = kLayers[random.Below(std::size(kLayers))];
  attune_conv conv{};
  conv.batch = 1;
  conv.in_channels = layer.in_channels;
  conv.out_channels = layer.out_channels;
  conv.in[1] = (side() + layer.shrunk - 1) / layer.shrunk;
  conv.in[2] = (side() + layer.shrunk - 1) / layer.shrunk;
  conv.filter[1] = conv.filter[2] = layer.filter;
  conv.pad[1] = conv.pad[2] = layer.filter / 2;
  conv.stride[1] = conv.stride[2] = layer.stride;
  conv.type = type == "f16" ? ATTUNE_F16 : ATTUNE_F32;
  conv.alignment_bytes = kAlignment;
  return conv;
}

// Operands for the largest convolution, on a stream of the program.
class OnDevice {
 public:
  explicit OnDevice(const cuda::Driver& driver) : device_(driver) {
    constexpr size_t kBytes = size_t{64} << 20;
    arguments_.a = device_.Operand(kBytes);
    arguments_.b = device_.Operand(kBytes);
    arguments_.c = device_.Operand(kBytes);
    arguments_.queue = device_.stream();
  }

  double TimeNs(attune_runtime* runtime, const attune_conv& conv) {
    return device_.TimeNs([&] { return attune_run_conv(runtime, &conv, &arguments_); });
  }
  double SteadyUs(attune_runtime* runtime, const attune_conv& conv) {
    return device_.SteadyUs([&] { return attune_run_conv(runtime, &conv, &arguments_); });
  }
  bool Computes(attune_runtime* runtime, const attune_conv& conv) {
    const bool is_enqueued = attune_run_conv(runtime, &conv, &arguments_) == ATTUNE_OK;
    device_.Wait();
    return is_enqueued;
  }

 private:
  CallDevice device_;
  attune_arguments arguments_ = ATTUNE_ARGUMENTS_INIT;
};

struct Row {
  attune_conv conv{};
  std::string problem;
  std::string candidate;
  double first_us = 0;
  double steady_us = 0;
  // 0 where nothing is tuned:
  double vendor_first_us = 0;
  double vendor_best_us = 0;
  double tuned_us = 0;
  double untuned_us = 0;  // By turns with `tuned_us`: the untuned candidate by then.
  double roofline_us = 0;
  // The candidates that serve at the end of the timed calls, untuned and tuned, and device times in
  // microseconds of a launch of these two and of the first one that served.
  std::string untuned;
  std::string tuned;
  double first_device_us = 0;
  double untuned_device_us = 0;
  double tuned_device_us = 0;
};

// An environment variable for runtimes that are made while it lives.
class SetVariable {
 public:
  SetVariable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~SetVariable() { ::unsetenv(name_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* const name_;
};

std::string TextOf(const attune_conv& conv) {
  char* text = nullptr;
  CheckCall(attune_conv_text(&conv, &text));
  std::string result = text;
  attune_free(text);
  return result;
}

// Every layer once with another image: libraries are loaded, memory is there.
void WarmUp(OnDevice& device, attune_runtime* runtime, const Options& options) {
  Random random(options.seed + 1000);
  for (int i = 0; i < 12; ++i) device.TimeNs(runtime, RandomConv(random, options.type));
}

std::vector<Row> MeasureFirstCalls(OnDevice& device, CallRuntime& runtime, const Options& options) {
  WarmUp(device, runtime.get(), options);
  Random random(options.seed);
  std::vector<Row> rows(static_cast<size_t>(options.pictures));
  for (Row& row : rows) {
    row.conv = RandomConv(random, options.type);
    row.problem = TextOf(row.conv);
    row.first_us = device.TimeNs(runtime.get(), row.conv) / 1e3;
    row.candidate = runtime.ServedBy(row.problem);
    row.steady_us = device.SteadyUs(runtime.get(), row.conv);
  }
  return rows;
}

// Tunes `rows`, in their first call here. The host is shared and its speed changes from one minute
// to the next: the candidate of `untuned` is timed once more, by turns with the tuned one.
void MeasureTunedCalls(OnDevice& device, std::span<Row> rows, const Options& options,
                       const std::string& database, CallRuntime& untuned) {
  CallRuntime runtime(ATTUNE_INLINE, database, options.per_problem_ms);
  for (size_t i = 0; i < rows.size(); ++i) {
    fmt::print(stderr, "Tuning {} of {}\n", i + 1, rows.size());
    device.TimeNs(runtime.get(), rows[i].conv);
    runtime.AwaitPreferred();
    untuned.AwaitPreferred();
    std::vector<double> tuned_us, untuned_us;
    for (int pair = 0; pair < kPairs; ++pair) {
      tuned_us.push_back(device.TimeNs(runtime.get(), rows[i].conv) / 1e3);
      untuned_us.push_back(device.TimeNs(untuned.get(), rows[i].conv) / 1e3);
    }
    rows[i].tuned_us = MedianOf(std::move(tuned_us));
    rows[i].untuned_us = MedianOf(std::move(untuned_us));
    rows[i].tuned = runtime.ServedBy(rows[i].problem);
    rows[i].untuned = untuned.ServedBy(rows[i].problem);
  }
}

// Times launches as tuning compares them: alone, many for each wait, by turns in a fresh process.
void MeasureOnDevice(std::span<Row> rows) {
  for (Row& row : rows) {
    const Result<Problem> problem = ParseProblem(row.problem);
    Require(problem.ok() ? Status::Ok() : problem.error());
    RacePlan plan{.device = kCallDevice, .problem = *problem, .candidates = {}};
    std::vector<size_t> places;
    for (const std::string& text : {row.candidate, row.untuned, row.tuned}) {
      const Result<Candidate> candidate = ParseCandidate(text);
      Require(candidate.ok() ? Status::Ok() : candidate.error());
      const auto found = std::ranges::find(plan.candidates, *candidate);
      places.push_back(static_cast<size_t>(found - plan.candidates.begin()));
      if (found == plan.candidates.end()) plan.candidates.push_back(*candidate);
    }
    const Result<RaceSamples> samples = RaceInFreshProcess(plan);
    Require(samples.ok() ? Status::Ok() : samples.error());
    const auto us = [&](size_t i) {
      const std::vector<double>& of_candidate = (*samples)[places[i]];
      if (!of_candidate.empty()) return MedianOf(of_candidate) / 1e3;
      fmt::print(stderr, "{} failed in the race for {}.\n", Text(plan.candidates[places[i]]),
                 row.problem);
      return 0.0;
    };
    row.first_device_us = us(0);
    row.untuned_device_us = us(1);
    row.tuned_device_us = us(2);
  }
}

// As SteadyUs; nothing where the device does not compute it.
std::optional<double> TrySteadyUs(OnDevice& device, attune_runtime* runtime,
                                  const attune_conv& conv) {
  if (!device.Computes(runtime, conv)) return std::nullopt;
  return device.SteadyUs(runtime, conv);
}

// Every algorithm of cuDNN's legacy calls, with and without tensor cores. The solvers of a problem
// among them are listed without a device.
Result<std::vector<Candidate>> VendorCandidates(const Place& place, const Problem& problem) {
  for (const auto& solver : place.backend->solvers()) {
    if (solver->id().name != kVendorSolver) continue;
    ATTUNE_RETURN_IF_ERROR(solver->IsApplicable(problem, place.target));
    ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver->Space(problem, place.target));
    std::vector<Candidate> candidates;
    for (uint64_t i = 0; i < space.size(); ++i) {
      candidates.push_back({solver->id(), space.At(i)});
    }
    return candidates;
  }
  return NotFound(fmt::format("There is no solver {} here.", kVendorSolver));
}

// cuDNN's choice, and the best of its algorithms, called in the same way, except that every call is
// the library's own.
void MeasureVendorCalls(OnDevice& device, std::span<Row> rows, const Options& options) {
  const SetVariable direct("ATTUNE_GRAPH_REPLAY", "0");
  {
    const SetVariable forced(kForce, kVendorSolver);
    const CallRuntime runtime(ATTUNE_NEVER, "", options.per_problem_ms);
    for (Row& row : rows) row.vendor_first_us = device.SteadyUs(runtime.get(), row.conv);
  }
  const LoadedBackends backends = LoadBackends();
  const Result<Place> place = FindPlace(backends.list, kCallDevice);
  Require(place.ok() ? Status::Ok() : place.error());
  std::map<std::string, std::vector<Row*>> rows_by_candidate;
  for (Row& row : rows) {
    row.vendor_best_us = row.vendor_first_us;
    const Result<Problem> problem = ParseProblem(row.problem);
    Require(problem.ok() ? Status::Ok() : problem.error());
    const auto candidates = VendorCandidates(*place, *problem);
    Require(candidates.ok() ? Status::Ok() : candidates.error());
    for (const Candidate& candidate : *candidates) {
      rows_by_candidate[Text(candidate)].push_back(&row);
    }
  }
  for (const auto& [candidate, its_rows] : rows_by_candidate) {
    const SetVariable forced(kForce, candidate);
    const CallRuntime runtime(ATTUNE_NEVER, "", options.per_problem_ms);
    for (Row* row : its_rows) {
      const auto us = TrySteadyUs(device, runtime.get(), row->conv);
      if (us.has_value()) row->vendor_best_us = std::min(row->vendor_best_us, *us);
    }
  }
}

Status FindRooflines(std::span<Row> rows) {
  const LoadedBackends backends = LoadBackends();
  ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlace(backends.list, kCallDevice));
  ATTUNE_ASSIGN_OR_RETURN(const auto device, place.backend->Open(kCallDevice));
  ATTUNE_ASSIGN_OR_RETURN(const Peaks peaks, place.backend->MeasurePeaks(*device));
  Roofline roofline(kCallDevice, kMatrixSolver, peaks);
  for (Row& row : rows) {
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ParseProblem(row.problem));
    ATTUNE_ASSIGN_OR_RETURN(const double ns, roofline.Ns(problem));
    row.roofline_us = ns / 1e3;
  }
  return Status::Ok();
}

// Other images of the same layers.
nlohmann::ordered_json StepsOf(const Options& options) {
  Random random(options.seed + 2000);
  std::vector<Conv> convs;
  for (int i = 0; i < 2 * options.pictures; ++i) {
    const Result<Problem> problem = ParseProblem(TextOf(RandomConv(random, options.type)));
    Require(problem.ok() ? Status::Ok() : problem.error());
    convs.push_back(problem->Get<Conv>());
  }
  const auto steps = MeasureFirstCallSteps(kCallDevice, convs);
  Require(steps.ok() ? Status::Ok() : steps.error());
  return *steps;
}

// The ratios of `above` and `below`, for rows that have both.
std::vector<double> Ratios(const std::vector<Row>& rows, double Row::*above, double Row::*below) {
  std::vector<double> ratios;
  for (const Row& row : rows) {
    if (row.*above > 0 && row.*below > 0) ratios.push_back(row.*above / (row.*below));
  }
  return ratios;
}

nlohmann::ordered_json ResultOf(const std::vector<Row>& rows, uint64_t builds) {
  std::vector<double> first_us, steady_us;
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    first_us.push_back(row.first_us);
    steady_us.push_back(row.steady_us);
    listed.push_back({{"problem", row.problem},
                      {"candidate", row.candidate},
                      {"first_us", row.first_us},
                      {"steady_us", row.steady_us},
                      {"vendor_first_us", row.vendor_first_us},
                      {"vendor_best_us", row.vendor_best_us},
                      {"tuned_us", row.tuned_us},
                      {"untuned_us", row.untuned_us},
                      {"roofline_us", row.roofline_us},
                      {"untuned", row.untuned},
                      {"tuned", row.tuned},
                      {"first_device_us", row.first_device_us},
                      {"untuned_device_us", row.untuned_device_us},
                      {"tuned_device_us", row.tuned_device_us}});
  }
  nlohmann::ordered_json summary = {{"pictures", rows.size()},
                                    {"first_median_us", MedianOf(first_us)},
                                    {"first_worst_us", *std::ranges::max_element(first_us)},
                                    {"steady_median_us", MedianOf(steady_us)},
                                    {"builds_in_caller", builds}};
  const auto add = [&](const char* name, double Row::*above, double Row::*below) {
    const std::vector<double> ratios = Ratios(rows, above, below);
    if (ratios.empty()) return;
    summary[fmt::format("{}_median", name)] = MedianOf(ratios);
    summary[fmt::format("{}_geomean", name)] = GeometricMean(ratios);
  };
  add("first_over_tuned", &Row::first_us, &Row::tuned_us);
  // Excludes creating the candidate that serves.
  add("steady_over_tuned", &Row::steady_us, &Row::tuned_us);
  add("untuned_over_tuned", &Row::untuned_us, &Row::tuned_us);
  add("first_over_tuned_on_device", &Row::first_device_us, &Row::tuned_device_us);
  add("untuned_over_tuned_on_device", &Row::untuned_device_us, &Row::tuned_device_us);
  add("vendor_first_over_tuned", &Row::vendor_first_us, &Row::tuned_us);
  add("vendor_best_over_tuned", &Row::vendor_best_us, &Row::tuned_us);
  add("tuned_over_roofline", &Row::tuned_us, &Row::roofline_us);
  return {{"summary", summary}, {"rows", listed}};
}

void Print(const nlohmann::ordered_json& result) {
  constexpr const char* kColumns[][2] = {
      {"first us", "first_us"},       {"later us", "steady_us"}, {"vendor us", "vendor_first_us"},
      {"its best", "vendor_best_us"}, {"tuned us", "tuned_us"},  {"untuned", "untuned_us"},
      {"roofline", "roofline_us"}};
  for (const auto& [title, name] : kColumns) fmt::print("{:>9} ", title);
  fmt::print(" problem, candidate\n");
  for (const auto& row : result["rows"]) {
    for (const auto& [title, name] : kColumns) fmt::print("{:>9.1f} ", row[name].get<double>());
    fmt::print(" {}  {}\n", row["problem"].get<std::string>(), row["candidate"].get<std::string>());
  }
  for (const auto& [name, value] : result["summary"].items()) {
    fmt::print("{:<32} {:>10.2f}\n", name, value.get<double>());
  }
  if (result.contains("steps")) PrintFirstCallSteps(result["steps"]);
}

int Run(const Options& options) {
  const cuda::Driver driver = cuda::LoadDriver();
  if (!driver.available()) {
    fmt::print(stderr, "cuda_first_call: No CUDA device here: {}\n", driver.report.missing);
    return 1;
  }
  OnDevice device(driver);
  const BenchFolder folder("");
  const bool defers = options.policy == "deferred";
  const std::string fresh = defers ? (folder.path() / "deferred.db").string() : "";
  CallRuntime runtime(defers ? ATTUNE_DEFERRED : ATTUNE_NEVER,
                      options.known.empty() ? fresh : options.known, options.per_problem_ms);
  std::vector<Row> rows = MeasureFirstCalls(device, runtime, options);
  const uint64_t builds = runtime.Counters().builds_in_caller;
  const std::span<Row> tuned =
      std::span(rows).first(std::min(rows.size(), static_cast<size_t>(options.tuned)));
  const bool is_kept = !options.database.empty();
  MeasureTunedCalls(device, tuned, options,
                    is_kept ? options.database : (folder.path() / "tuned.db").string(), runtime);
  MeasureOnDevice(tuned);
  MeasureVendorCalls(device, tuned, options);
  Require(FindRooflines(rows));
  nlohmann::ordered_json result = ResultOf(rows, builds);
  if (options.tells_steps) result["steps"] = StepsOf(options);
  if (options.as_json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    Print(result);
  }
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  if (const auto served = attune::MaybeServeRace(argc, argv)) return *served;
  attune::Options options;
  CLI::App app("What the first convolution of a new picture size costs on an NVIDIA GPU");
  app.add_option("--pictures", options.pictures, "Shapes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tuned", options.tuned, "Of them, those that are tuned afterwards")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--type", options.type)
      ->check(CLI::IsMember({"f32", "f16"}))
      ->capture_default_str();
  app.add_option("--policy", options.policy, "Of the run time that is called first")
      ->check(CLI::IsMember({"never", "deferred"}))
      ->capture_default_str();
  app.add_option("--per-problem-ms", options.per_problem_ms, "For tuning one")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the shapes")->capture_default_str();
  app.add_option("--db", options.database, "Database to keep what is tuned in, and to resume from");
  app.add_option("--known", options.known, "Database of other problems that first calls may use")
      ->check(CLI::ExistingFile);
  app.add_flag("--steps", options.tells_steps, "Tell where the time of a first call goes");
  app.add_flag("--json", options.as_json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
