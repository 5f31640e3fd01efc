// The cost of the first call of an unseen batch norm on an NVIDIA GPU: from the call to the end of
// its work on the device, with nothing tuned, beside the same call once it is tuned.
//
//   cuda_first_norm [--shapes N] [--tuned N] [--per-problem-ms N] [--seed N] [--db FILE] [--json]
//
// Kernels must be in the cache (`attune build --every-kernel`); compilation in the caller counts. A
// call with one more image comes before each first call, and its time is a row's `load_us`: it
// loads the module if no call before it did. `--db` keeps tuned choices.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/problem/problem.h"
#include "backends/cuda/driver/driver.h"
#include "bench/cuda_calls.h"
#include "bench/figures.h"
#include "include/attune/ops/batch_norm.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostElements = int64_t{1} << 24;
constexpr size_t kOperandBytes = size_t{kMostElements} * sizeof(float);
constexpr int kMostOperands = 12;
constexpr int kAlignment = 256;  // In bytes, of cuMemAlloc's results.
constexpr int kPairs = 21;       // Calls in turns, untuned and tuned.
constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

struct Options {
  int shapes = 100;
  int tuned = 100;
  int per_problem_ms = 500;
  uint64_t seed = 1;
  std::string database;
  bool as_json = false;
};

struct Row {
  BatchNorm norm;
  std::string problem;
  std::string first;  // The candidate that served first.
  std::string tuned;
  double load_us = 0;
  double first_us = 0;
  double untuned_us = 0;  // Later calls, in turns with `tuned_us`.
  double tuned_us = 0;
};

// Any pass, type, layout and fusion, with images, channels and batches of networks or odd ones.
BatchNorm RandomNorm(Random& random) {
  const auto one_of = [&](int64_t first, int64_t last) {
    return first + static_cast<int64_t>(random.Below(static_cast<uint64_t>(last - first + 1)));
  };
  constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBf16};
  BatchNorm norm;
  norm.pass = static_cast<BatchNormPass>(one_of(0, 2));
  norm.type = kTypes[one_of(0, 2)];
  norm.layout = one_of(0, 1) == 0 ? BatchNormLayout::kNchw : BatchNormLayout::kNhwc;
  const bool is_fused = norm.pass != BatchNormPass::kBackward && one_of(0, 1) == 1;
  if (is_fused) norm.fusion = BatchNormFusion::kRelu;
  norm.running = norm.pass == BatchNormPass::kTraining;
  norm.saved = norm.pass != BatchNormPass::kInference;
  norm.alignment_bytes = kAlignment;
  norm.channels = one_of(0, 3) == 0 ? one_of(1, 400) : 16 * one_of(1, 64);
  // Three images fit, so that a batch of 2 can have one more.
  const int64_t most_pixels = kMostElements / 3 / norm.channels;
  norm.height = one_of(1, std::min<int64_t>(112, most_pixels));
  norm.width = one_of(1, std::min<int64_t>(112, most_pixels / norm.height));
  const int64_t most_images = kMostElements / (norm.channels * norm.height * norm.width) - 1;
  norm.batch = one_of(2, std::min<int64_t>(128, most_images));
  return norm;
}

attune_batch_norm ToC(const BatchNorm& norm) {
  attune_batch_norm c{};
  c.batch = norm.batch;
  c.channels = norm.channels;
  c.height = norm.height;
  c.width = norm.width;
  c.pass = static_cast<int32_t>(norm.pass);
  c.layout = norm.layout == BatchNormLayout::kNhwc ? ATTUNE_NHWC : ATTUNE_NCHW;
  c.affine = norm.affine;
  c.running = norm.running;
  c.saved = norm.saved;
  c.fusion =
      norm.fusion == BatchNormFusion::kRelu ? ATTUNE_BATCH_NORM_RELU : ATTUNE_BATCH_NORM_PLAIN;
  c.type = norm.type == DataType::kF32   ? ATTUNE_F32
           : norm.type == DataType::kF16 ? ATTUNE_F16
                                         : ATTUNE_BF16;
  c.alignment_bytes = norm.alignment_bytes;
  return c;
}

class Calls {
 public:
  explicit Calls(const cuda::Driver& driver) : device_(driver) {
    for (int i = 0; i < kMostOperands; ++i) buffers_.push_back(device_.Operand(kOperandBytes));
  }

  double FirstUs(attune_runtime* runtime, const BatchNorm& norm) {
    const attune_batch_norm c = ToC(norm);
    attune_operands operands = ATTUNE_OPERANDS_INIT;
    operands.data = buffers_.data();
    operands.count = Operands(Problem(norm)).size();
    operands.queue = device_.stream();
    const auto call = [&] {
      return attune_run_batch_norm(runtime, &c, kEpsilon, kMomentum, &operands);
    };
    return device_.TimeNs(call) / 1e3;
  }

 private:
  CallDevice device_;
  std::vector<void*> buffers_;
};

std::vector<Row> MeasureFirstCalls(Calls& calls, CallRuntime& runtime, const Options& options) {
  Random random(options.seed);
  std::vector<Row> rows(static_cast<size_t>(options.shapes));
  for (Row& row : rows) {
    row.norm = RandomNorm(random);
    row.problem = Text(Problem(row.norm));
    BatchNorm larger = row.norm;
    ++larger.batch;
    row.load_us = calls.FirstUs(runtime.get(), larger);
    row.first_us = calls.FirstUs(runtime.get(), row.norm);
    row.first = runtime.ServedBy(row.problem);
  }
  return rows;
}

void MeasureTunedCalls(Calls& calls, CallRuntime& untuned, CallRuntime& tuned, Row& row) {
  calls.FirstUs(tuned.get(), row.norm);
  tuned.AwaitPreferred();
  std::vector<double> untuned_us, tuned_us;
  for (int pair = 0; pair < kPairs; ++pair) {
    tuned_us.push_back(calls.FirstUs(tuned.get(), row.norm));
    untuned_us.push_back(calls.FirstUs(untuned.get(), row.norm));
  }
  row.tuned_us = MedianOf(std::move(tuned_us));
  row.untuned_us = MedianOf(std::move(untuned_us));
  row.tuned = tuned.ServedBy(row.problem);
}

Json ResultOf(const std::vector<Row>& rows, uint64_t builds) {
  std::vector<double> load_us, first_us, above_us;
  Json listed = Json::array();
  for (const Row& row : rows) {
    load_us.push_back(row.load_us);
    first_us.push_back(row.first_us);
    if (row.tuned_us > 0) above_us.push_back(row.first_us - row.tuned_us);
    listed.push_back({{"problem", row.problem},
                      {"load_us", row.load_us},
                      {"first_us", row.first_us},
                      {"untuned_us", row.untuned_us},
                      {"tuned_us", row.tuned_us},
                      {"above_us", row.tuned_us > 0 ? row.first_us - row.tuned_us : 0.0},
                      {"first", row.first},
                      {"tuned", row.tuned}});
  }
  Json summary = {{"shapes", rows.size()},
                  {"builds_in_caller", builds},
                  {"load_worst_us", std::ranges::max(load_us)},
                  {"first_median_us", MedianOf(first_us)},
                  {"first_worst_us", std::ranges::max(first_us)}};
  if (!above_us.empty()) {
    summary["above_tuned_median_us"] = MedianOf(above_us);
    summary["above_tuned_worst_us"] = std::ranges::max(above_us);
  }
  return {{"summary", summary}, {"rows", listed}};
}

void Print(const Json& result) {
  fmt::print("{:>9} {:>9} {:>9} {:>9} {:>9}  problem, candidate\n", "load us", "first us",
             "later us", "tuned us", "above us");
  for (const Json& row : result["rows"]) {
    fmt::print("{:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}  {}  {}\n",
               row["load_us"].get<double>(), row["first_us"].get<double>(),
               row["untuned_us"].get<double>(), row["tuned_us"].get<double>(),
               row["above_us"].get<double>(), row["problem"].get<std::string>(),
               row["first"].get<std::string>());
  }
  for (const auto& [name, value] : result["summary"].items()) {
    fmt::print("{:<24} {:>10.1f}\n", name, value.get<double>());
  }
}

int Run(const Options& options) {
  constexpr int kSkipped = 77;
  const cuda::Driver driver = cuda::LoadDriver();
  if (!driver.available()) {
    fmt::print(stderr, "cuda_first_norm: no CUDA device here: {}\n", driver.report.missing);
    return kSkipped;
  }
  Calls calls(driver);
  const BenchFolder folder("");
  CallRuntime untuned(ATTUNE_NEVER, "", options.per_problem_ms);
  std::vector<Row> rows = MeasureFirstCalls(calls, untuned, options);
  const uint64_t builds = untuned.Counters().builds_in_caller;
  const bool is_kept = !options.database.empty();
  CallRuntime tuned(ATTUNE_INLINE,
                    is_kept ? options.database : (folder.path() / "tuned.db").string(),
                    options.per_problem_ms);
  const size_t count = std::min(rows.size(), static_cast<size_t>(options.tuned));
  for (size_t i = 0; i < count; ++i) {
    fmt::print(stderr, "\rtuning {} of {}", i + 1, count);
    MeasureTunedCalls(calls, untuned, tuned, rows[i]);
  }
  fmt::print(stderr, "\n");
  const Json result = ResultOf(rows, builds);
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
  attune::Options options;
  CLI::App app("What the first call of an unseen batch norm costs on an NVIDIA GPU");
  app.add_option("--shapes", options.shapes)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--tuned", options.tuned, "Of them, those that are tuned afterwards")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--per-problem-ms", options.per_problem_ms, "For tuning one")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the shapes")->capture_default_str();
  app.add_option("--db", options.database, "Database to keep what is tuned in, and to resume from");
  app.add_flag("--json", options.as_json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
