// The cost of a shape's first call over a steady call of the candidate that served it, with nothing
// tuned: random products and convolutions, operands touched, libraries loaded.
//
//   first_call [--problems N] [--inline N] [--seed N] [--json]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "include/attune/attune.h"

namespace attune {
namespace {

struct Options {
  int problems = 500;
  int inline_problems = 8;
  uint64_t seed = 1;
  bool json = false;
};

using Clock = std::chrono::steady_clock;

// From here on a call is long enough that a ratio says something.
constexpr double kLongNs = 100'000;
constexpr int kSteadyCalls = 7;

double PercentileOf(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1) + 0.5)];
}

void Require(attune_code code) {
  if (code == ATTUNE_OK) return;
  fmt::print(stderr, "first_call: {}\n", attune_last_message());
  std::exit(1);
}

// Even over the octaves from 1 on.
int64_t SizeUpTo(Random& random, int octaves) {
  const int64_t octave = int64_t{1} << random.Below(static_cast<uint64_t>(octaves));
  return octave + static_cast<int64_t>(random.Below(static_cast<uint64_t>(octave)));
}

attune_gemm RandomGemm(Random& random) {
  attune_gemm gemm{};
  gemm.m = SizeUpTo(random, 11);
  gemm.n = SizeUpTo(random, 11);
  gemm.k = SizeUpTo(random, 11);
  gemm.trans_a = static_cast<int32_t>(random.Below(2));
  gemm.trans_b = static_cast<int32_t>(random.Below(2));
  return gemm;
}

attune_conv RandomConv(Random& random) {
  constexpr int64_t kFilters[] = {1, 3, 5};
  attune_conv conv{};
  conv.batch = SizeUpTo(random, 3);
  conv.in_channels = SizeUpTo(random, 8);
  conv.out_channels = SizeUpTo(random, 8);
  conv.in[1] = conv.in[2] = 6 + SizeUpTo(random, 6);
  conv.filter[1] = conv.filter[2] = kFilters[random.Below(3)];
  conv.pad[1] = conv.pad[2] = conv.filter[1] / 2;
  conv.stride[1] = conv.stride[2] = 1 + static_cast<int64_t>(random.Below(2));
  conv.direction = static_cast<int32_t>(random.Below(3));
  const auto layout = static_cast<int32_t>(random.Below(2));
  conv.in_layout = conv.out_layout = conv.weights_layout = layout;
  return conv;
}

struct Call {
  bool is_conv = false;
  attune_gemm gemm{};
  attune_conv conv{};

  std::string TextOf() const {
    char* text = nullptr;
    Require(is_conv ? attune_conv_text(&conv, &text) : attune_gemm_text(&gemm, 1, 0, &text));
    std::string result = text;
    attune_free(text);
    return result;
  }
  // Elements of the largest operand, roughly.
  size_t LargestOperand() const {
    const int64_t of_gemm = std::max({gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n});
    const int64_t pixels = conv.batch * conv.in[1] * conv.in[2];
    const int64_t weights = conv.in_channels * conv.out_channels * conv.filter[1] * conv.filter[2];
    const int64_t of_conv =
        std::max(pixels * std::max(conv.in_channels, conv.out_channels), weights);
    return static_cast<size_t>(is_conv ? of_conv : of_gemm);
  }
  attune_code Run(attune_runtime* runtime, const attune_arguments& arguments) const {
    return is_conv ? attune_run_conv(runtime, &conv, &arguments)
                   : attune_run_gemm(runtime, &gemm, &arguments);
  }
};

Call RandomCall(Random& random) {
  Call call;
  call.is_conv = random.Below(2) == 1;
  if (call.is_conv) {
    call.conv = RandomConv(random);
  } else {
    call.gemm = RandomGemm(random);
  }
  return call;
}

// Memory for the largest of all calls, touched.
class Operands {
 public:
  Operands() : a_(kElements, 0.5F), b_(kElements, 0.25F), c_(kElements, 0) {
    arguments_.a = Aligned(a_);
    arguments_.b = Aligned(b_);
    arguments_.c = Aligned(c_);
    arguments_.alpha = 1;
  }
  const attune_arguments& arguments() const { return arguments_; }
  // Leaves operands as a producer leaves them: in the caches, as far as they fit.
  void Touch(size_t elements) {
    for (std::vector<float>* memory : {&a_, &b_, &c_}) {
      std::fill_n(memory->begin(), std::min(elements + kAlignmentElements, kElements), 0.5F);
    }
  }

 private:
  static constexpr size_t kAlignmentElements = 16;
  static constexpr size_t kElements = size_t{1} << 24;
  static void* Aligned(std::vector<float>& memory) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  }
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
  attune_arguments arguments_ = ATTUNE_ARGUMENTS_INIT;
};

struct Row {
  Call call;
  std::string problem;
  std::string candidate;
  double first_ns = 0;
  double steady_ns = 0;   // The median of several.
  double control_ns = 0;  // One steady call more: it differs from the median by noise alone.

  double ratio() const { return first_ns / steady_ns; }
  double added_ns() const { return first_ns - steady_ns; }
};

double NsOf(const Call& call, attune_runtime* runtime, const attune_arguments& arguments) {
  const auto begin = Clock::now();
  Require(call.Run(runtime, arguments));
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

// Collects a runtime's reports on the calls of one thread.
struct CallerWatch {
  std::thread::id caller = std::this_thread::get_id();
  int tunings = 0;        // That ended in the calling thread.
  std::string served_by;  // The candidate of the last miss.

  static void Hear(void* context, attune_event event, const char*, const char* candidate,
                   const char*) {
    auto* watch = static_cast<CallerWatch*>(context);
    if (std::this_thread::get_id() != watch->caller) return;
    if (event == ATTUNE_EVENT_TUNED || event == ATTUNE_EVENT_TUNING_FAILED) ++watch->tunings;
    if (event == ATTUNE_EVENT_MISS && candidate != nullptr) watch->served_by = candidate;
  }
};

class FreshRuntime {
 public:
  FreshRuntime(attune_policy policy, const std::string& database, const std::string& force = "") {
    ::setenv("ATTUNE_FORCE", force.c_str(), 1);
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.database = database.c_str();
    options.policy = policy;
    options.per_problem_ms = 2000;
    Require(attune_runtime_create(&options, &runtime_));
    Require(attune_set_listener(runtime_, CallerWatch::Hear, &watch_));
  }
  ~FreshRuntime() { attune_runtime_destroy(runtime_); }
  FreshRuntime(const FreshRuntime&) = delete;
  FreshRuntime& operator=(const FreshRuntime&) = delete;

  attune_runtime* get() { return runtime_; }
  attune_counters Counters() {
    attune_counters counters = ATTUNE_COUNTERS_INIT;
    Require(attune_get_counters(runtime_, &counters));
    return counters;
  }
  const CallerWatch& watch() const { return watch_; }

 private:
  CallerWatch watch_;
  attune_runtime* runtime_ = nullptr;
};

// Libraries are loaded and memory is there once every kind of call was made.
void WarmUp(attune_runtime* runtime, const Operands& operands) {
  Random random(12345);
  for (int i = 0; i < 40; ++i) Require(RandomCall(random).Run(runtime, operands.arguments()));
}

// Calls of known shapes before a new one, as in a program: without them the threads of the
// libraries sleep, and waking them would count as the price of a first call.
std::vector<Call> KnownCalls() {
  Call product;
  product.gemm.m = product.gemm.n = product.gemm.k = 128;
  Call conv;
  conv.is_conv = true;
  conv.conv.batch = 1;
  conv.conv.in_channels = conv.conv.out_channels = 32;
  conv.conv.in[1] = conv.conv.in[2] = 28;
  conv.conv.filter[1] = conv.conv.filter[2] = 3;
  return {product, conv};
}

// The moment before a call: operands just written, threads awake.
void Prepare(const Call& call, attune_runtime* runtime, Operands& operands) {
  operands.Touch(call.LargestOperand());
  for (const Call& known : KnownCalls()) Require(known.Run(runtime, operands.arguments()));
}

struct Figures {
  std::vector<Row> rows;
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  int tunings_in_caller = 0;
};

// The first calls of `count` shapes. Background tuning and creation disturb them, as they do in a
// program.
Figures MeasureFirstCalls(const Options& options, attune_policy policy, const std::string& database,
                          int count) {
  Operands operands;
  FreshRuntime runtime(policy, database);
  if (policy != ATTUNE_INLINE) WarmUp(runtime.get(), operands);
  Random random(options.seed);
  Figures figures;
  std::set<std::string> called;
  while (static_cast<int>(called.size()) < count) {
    Row row;
    row.call = RandomCall(random);
    row.problem = row.call.TextOf();
    if (!called.insert(row.problem).second) continue;
    Prepare(row.call, runtime.get(), operands);
    row.first_ns = NsOf(row.call, runtime.get(), operands.arguments());
    row.candidate = runtime.watch().served_by;
    figures.rows.push_back(row);
    if (called.size() % 50 == 0) fmt::print(stderr, "{} of {} shapes\n", called.size(), count);
  }
  figures.counters = runtime.Counters();
  figures.tunings_in_caller = runtime.watch().tunings;
  return figures;
}

// Steady calls of the candidates that served the first ones, prepared alike, in an otherwise idle
// runtime.
void MeasureSteadyCalls(std::vector<Row>& rows) {
  std::string force;
  for (const Row& row : rows) force += fmt::format("{} -> {};", row.problem, row.candidate);
  Operands operands;
  FreshRuntime runtime(ATTUNE_NEVER, "", force);
  for (Row& row : rows) {
    std::vector<double> steady_ns;
    const auto time_prepared = [&] {
      Prepare(row.call, runtime.get(), operands);
      return NsOf(row.call, runtime.get(), operands.arguments());
    };
    time_prepared();
    row.control_ns = time_prepared();
    for (int i = 0; i < kSteadyCalls; ++i) steady_ns.push_back(time_prepared());
    row.steady_ns = PercentileOf(steady_ns, 0.5);
  }
}

nlohmann::ordered_json SummaryOf(const Figures& figures) {
  std::vector<double> ratios, control_ratios;
  std::vector<double> added_us, control_added_us;
  for (const Row& row : figures.rows) {
    if (row.steady_ns >= kLongNs) {
      ratios.push_back(row.ratio());
      control_ratios.push_back(row.control_ns / row.steady_ns);
    } else {
      added_us.push_back(row.added_ns() / 1e3);
      control_added_us.push_back((row.control_ns - row.steady_ns) / 1e3);
    }
  }
  return {{"problems", figures.rows.size()},
          {"long_problems", ratios.size()},
          {"median_ratio", PercentileOf(ratios, 0.5)},
          {"p90_ratio", PercentileOf(ratios, 0.9)},
          {"p99_ratio", PercentileOf(ratios, 0.99)},
          {"median_added_us", PercentileOf(added_us, 0.5)},
          {"p99_added_us", PercentileOf(added_us, 0.99)},
          {"worst_added_us", PercentileOf(added_us, 1)},
          {"control_p90_ratio", PercentileOf(control_ratios, 0.9)},
          {"control_p99_ratio", PercentileOf(control_ratios, 0.99)},
          {"control_p99_added_us", PercentileOf(control_added_us, 0.99)},
          {"builds_in_caller", figures.counters.builds_in_caller},
          {"tunings_in_caller", figures.tunings_in_caller},
          {"stand_ins", figures.counters.stand_ins}};
}

nlohmann::ordered_json MeasureAll(const Options& options, const std::string& folder) {
  Figures figures =
      MeasureFirstCalls(options, ATTUNE_DEFERRED, folder + "/deferred.db", options.problems);
  fmt::print(stderr, "steady calls\n");
  MeasureSteadyCalls(figures.rows);
  nlohmann::ordered_json result;
  result["summary"] = SummaryOf(figures);
  if (options.inline_problems > 0) {
    fmt::print(stderr, "the same with 'inline'\n");
    const Figures waiting =
        MeasureFirstCalls(options, ATTUNE_INLINE, folder + "/inline.db", options.inline_problems);
    std::vector<double> first_ms;
    for (const Row& row : waiting.rows) first_ms.push_back(row.first_ns / 1e6);
    result["summary"]["inline_median_ms"] = PercentileOf(first_ms, 0.5);
  }
  result["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : figures.rows) {
    result["rows"].push_back({{"problem", row.problem},
                              {"candidate", row.candidate},
                              {"first_us", row.first_ns / 1e3},
                              {"steady_us", row.steady_ns / 1e3},
                              {"control_us", row.control_ns / 1e3},
                              {"ratio", row.ratio()}});
  }
  return result;
}

void Print(const nlohmann::ordered_json& result, const Options& options) {
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  for (const auto& [name, value] : result["summary"].items()) {
    fmt::print("{:<22} {:>12.3f}\n", name, value.get<double>());
  }
}

int Run(const Options& options) {
  std::string folder = (std::filesystem::temp_directory_path() / "attune-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "first_call: Cannot make a folder '{}'.\n", folder);
    return 1;
  }
  Print(MeasureAll(options, folder), options);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("What the first call of a shape costs");
  app.add_option("--problems", options.problems, "Shapes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--inline", options.inline_problems, "Shapes called under 'inline'; 0 for none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the shapes")->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
