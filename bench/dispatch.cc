// The cost of dispatching a call with a known shape: with one shape, over many, from two threads;
// beside the lookup of PyTorch's TunableOp, and with libraries that take turns.
//
//   dispatch [--shapes N] [--calls N] [--repeats N] [--size N] [--rounds N] [--json]
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "attune/dispatch/plan_server.h"
#include "attune/index/memory_choices.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tunable/blas_params.h"
#include "bench/alternating.h"
#include "bench/counted_new.h"
#include "bench/string_path.h"
#include "include/attune/attune.h"
#include "runtime/request.h"

namespace attune {
namespace {

struct Options {
  int shapes = 1000;
  int calls = 200'000;
  int repeats = 15;
  int size = 512;
  int rounds = 60;
  bool json = false;
};

using Clock = std::chrono::steady_clock;

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Computes nothing, so that only the dispatch is left.
class IdleExecutable final : public Executable {
 public:
  size_t workspace_bytes() const override { return 0; }
  bool is_concurrent() const override { return true; }
  Status Run(const Arguments&) override { return Status::Ok(); }
};

class IdleSolver final : public Solver {
 public:
  IdleSolver() {
    traits_.operator_name = "gemm";
    traits_.instant = true;
  }
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return std::unique_ptr<Executable>(std::make_unique<IdleExecutable>());
  }

 private:
  const SolverId id_{"bench.idle-gemm", 1};
  SolverTraits traits_;
};

// A plan server that knows `shapes` products, and their calls in a random order.
class Hits {
 public:
  explicit Hits(int shapes) {
    solvers_.push_back(std::make_unique<IdleSolver>());
    DispatchParts parts;
    parts.solvers = &solvers_;
    parts.kernels = &kernels_;
    ServerOptions options;
    options.policy = MissPolicy::kNever;
    ServerHooks hooks;
    hooks.choices = [choices = choices_] { return choices; };
    server_ = std::make_unique<PlanServer>(parts, DispatchOptions(), options, hooks);
    Random random(1);
    for (int i = 0; i < shapes; ++i) {
      attune_gemm gemm{};
      gemm.m = 1 + static_cast<int64_t>(random.Below(4096));
      gemm.n = 1 + static_cast<int64_t>(random.Below(4096));
      gemm.k = 1 + i;
      gemm.lda = gemm.ldc = gemm.m;
      gemm.ldb = gemm.k;
      calls_.push_back(gemm);
      Gemm problem;
      problem.m = gemm.m;
      problem.n = gemm.n;
      problem.k = gemm.k;
      string_path_.Add(gemm, fmt::format("Gemm_Rocblas_{}", i % 20), BlasParams(problem));
    }
    for (int i = 0; i < 64 * 1024; ++i) {
      order_.push_back(static_cast<uint32_t>(random.Below(static_cast<uint64_t>(shapes))));
    }
    arguments_.a = arguments_.b = arguments_.c = &operand_;
    arguments_.alpha = 1;
    MakeKnown();
  }

  // Every shape known to this thread.
  void MakeKnown() {
    for (const attune_gemm& gemm : calls_) {
      const Problem problem = Normalized(PackedGemm(gemm.m, gemm.n, gemm.k));
      server_->FindOrMake(KeyOfCall(gemm, ClassesOf(arguments_), kNoWorkspaceLimit), problem,
                          kNoWorkspaceLimit);
    }
  }

  // As attune_run_gemm gets from its arguments to the plan.
  [[gnu::noinline]] Plan* Find(const attune_gemm& gemm, const attune_arguments& arguments) {
    return server_->Find(KeyOfCall(gemm, ClassesOf(arguments), kNoWorkspaceLimit));
  }

  // Nanoseconds of one call.
  double OneShapeNs(int calls) {
    return PerCallNs(calls,
                     [&](int) { return Find(calls_.front(), arguments_)->workspace_bytes(); });
  }
  double ManyShapesNs(int calls) {
    return PerCallNs(calls, [&](int i) { return Find(InOrder(i), arguments_)->workspace_bytes(); });
  }
  double ManyShapesAndRunNs(int calls) {
    return PerCallNs(calls, [&](int i) {
      return static_cast<size_t>(Find(InOrder(i), arguments_)->Run(Arguments()).ok());
    });
  }
  double StringPathNs(int calls) {
    return PerCallNs(calls, [&](int i) { return string_path_.Find(InOrder(i)).calls; });
  }

 private:
  static CallClasses ClassesOf(const attune_arguments& arguments) {
    return {ScalarClassOf(arguments.alpha), ScalarClassOf(arguments.beta), IsWide(arguments)};
  }
  const attune_gemm& InOrder(int i) const {
    return calls_[order_[static_cast<size_t>(i) % order_.size()]];
  }

  template <class Call>
  double PerCallNs(int calls, const Call& call) {
    size_t sum = 0;
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) sum += call(i);
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    asm volatile("" : : "r"(sum));  // Keeps the compiler from removing an unused result.
    return ns / calls;
  }

  SolverList solvers_;
  MemoryKernelCache kernels_;
  const std::shared_ptr<const ChoiceSource> choices_ = std::make_shared<MemoryChoices>();
  std::unique_ptr<PlanServer> server_;
  StringPath string_path_;
  std::vector<attune_gemm> calls_;
  std::vector<uint32_t> order_;
  alignas(64) float operand_ = 0;
  attune_arguments arguments_ = ATTUNE_ARGUMENTS_INIT;
};

using Measure = std::function<double()>;

double MedianNs(int repeats, const Measure& measure) {
  std::vector<double> times_ns;
  measure();  // Caches and clock rate.
  for (int i = 0; i < repeats; ++i) times_ns.push_back(measure());
  return MedianOf(times_ns);
}

// This thread on one core of those that it may use.
void StayOnCore(int number) {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all) || number-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

// Time of one call, while two threads do the same at the same time on a core each.
double TwoThreadsNs(int repeats, Hits& hits, const Measure& measure) {
  std::vector<double> times_ns[2];
  std::latch start(2);
  const auto work = [&](int number) {
    StayOnCore(number);
    hits.MakeKnown();
    start.arrive_and_wait();
    // The one that ends first must not leave the other alone in its last repeats.
    for (int i = 0; i < repeats + 2; ++i) times_ns[number].push_back(measure());
    times_ns[number].resize(static_cast<size_t>(repeats));
  };
  std::thread one(work, 0);
  std::thread other(work, 1);
  one.join();
  other.join();
  times_ns[0].insert(times_ns[0].end(), times_ns[1].begin(), times_ns[1].end());
  return MedianOf(times_ns[0]);
}

struct Row {
  std::string name;
  double value = 0;
  std::string required;
};

std::vector<Row> MeasureHits(const Options& options) {
  Hits hits(options.shapes);
  const auto one = [&] { return hits.OneShapeNs(options.calls); };
  const auto many = [&] { return hits.ManyShapesNs(options.calls); };
  const auto string_path = [&] { return hits.StringPathNs(options.calls); };
  fmt::print(stderr, "hits\n");
  const uint64_t allocations = AllocationsOfThisThread();
  hits.ManyShapesNs(options.calls);
  const auto allocated = static_cast<double>(AllocationsOfThisThread() - allocations);
  const double one_ns = MedianNs(options.repeats, one);
  const double many_ns = MedianNs(options.repeats, many);
  const double run_ns =
      MedianNs(options.repeats, [&] { return hits.ManyShapesAndRunNs(options.calls); });
  const double string_ns = MedianNs(options.repeats, string_path);
  fmt::print(stderr, "two threads\n");
  const double one_twice_ns = TwoThreadsNs(options.repeats, hits, one);
  const double many_twice_ns = TwoThreadsNs(options.repeats, hits, many);
  const double string_twice_ns = TwoThreadsNs(options.repeats, hits, string_path);
  return {{"hit_one_shape_ns", one_ns, "<= 30"},
          {fmt::format("hit_{}_shapes_ns", options.shapes), many_ns, "<= 50"},
          {"hit_and_idle_run_ns", run_ns, ""},
          {"allocations_of_hits", allocated, "0"},
          {"two_thread_ratio", std::max(one_twice_ns / one_ns, many_twice_ns / many_ns), "<= 1.2"},
          {"two_thread_ratio_one_shape", one_twice_ns / one_ns, ""},
          {"two_thread_ratio_many_shapes", many_twice_ns / many_ns, ""},
          {"string_path_ns", string_ns, ""},
          {"string_path_two_threads_ns", string_twice_ns, ""},
          {"string_path_over_hit", string_ns / many_ns, ">= 12"}};
}

// The overhead around the smallest possible product, everything included.
Row MeasureSmallestProduct(const Options& options) {
  attune_options settings = ATTUNE_OPTIONS_INIT;
  settings.database = "";
  settings.policy = ATTUNE_NEVER;
  attune_runtime* runtime = nullptr;
  if (attune_runtime_create(&settings, &runtime) != ATTUNE_OK) {
    fmt::print(stderr, "dispatch: {}\n", attune_last_message());
    std::exit(1);
  }
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = 1;
  alignas(64) float operands[3][16] = {};
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = operands[0];
  arguments.b = operands[1];
  arguments.c = operands[2];
  arguments.alpha = 1;
  attune_plan* plan = nullptr;
  attune_plan_gemm(runtime, &gemm, 1, 0, ATTUNE_NO_LIMIT, &plan);
  attune_wait_idle(runtime, 10'000);
  const auto per_call_ns = [&](const auto& call) {
    return MedianNs(options.repeats, [&] {
      const auto begin = Clock::now();
      for (int i = 0; i < options.calls; ++i) call();
      return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / options.calls;
    });
  };
  const double call_ns = per_call_ns([&] { attune_run_gemm(runtime, &gemm, &arguments); });
  const double plan_ns = per_call_ns([&] { attune_plan_run(plan, &arguments); });
  attune_plan_release(plan);
  attune_runtime_destroy(runtime);
  fmt::print(stderr, "1 x 1 x 1: {:.1f} ns by attune_run_gemm, {:.1f} ns by a bound plan\n",
             call_ns, plan_ns);
  return {"run_gemm_over_bound_plan_ns", call_ns - plan_ns, ""};
}

// A runtime made and destroyed: the first of the process, which looks for backends and libraries,
// and those behind it.
std::vector<Row> MeasureCreation(const Options& options) {
  attune_options settings = ATTUNE_OPTIONS_INIT;
  settings.database = "";
  settings.policy = ATTUNE_NEVER;
  std::vector<double> times_us;
  for (int i = 0; i <= options.repeats; ++i) {
    const auto begin = Clock::now();
    attune_runtime* runtime = nullptr;
    if (attune_runtime_create(&settings, &runtime) != ATTUNE_OK) {
      fmt::print(stderr, "dispatch: {}\n", attune_last_message());
      std::exit(1);
    }
    times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    attune_runtime_destroy(runtime);
  }
  const double first_us = times_us.front();
  times_us.erase(times_us.begin());
  return {{"first_runtime_create_us", first_us, ""}, {"runtime_create_us", MedianOf(times_us), ""}};
}

std::vector<Row> MeasureAll(const Options& options) {
  std::vector<Row> rows = MeasureCreation(options);
  for (const Row& row : MeasureHits(options)) rows.push_back(row);
  rows.push_back(MeasureSmallestProduct(options));
  if (options.rounds == 0) return rows;
  fmt::print(stderr, "libraries that take turns\n");
  double worst = 0;
  for (const AlternatingRow& row : MeasureAlternating(options.size, options.rounds)) {
    rows.push_back({row.library + "_alone_ns", row.alone_ns, ""});
    rows.push_back({row.library + "_alternating_ns", row.alternating_ns, ""});
    rows.push_back({row.library + "_alternating_p90_over_alone", row.ratio_p90, ""});
    worst = std::max(worst, row.ratio);
  }
  rows.push_back({"alternating_worst", worst, "<= 1.15"});
  return rows;
}

void Print(const std::vector<Row>& rows, const Options& options) {
  if (!options.json) {
    for (const Row& row : rows) {
      fmt::print("{:<34} {:>14.3f}  {}\n", row.name, row.value, row.required);
    }
    return;
  }
  nlohmann::ordered_json result;
  result["summary"] = nlohmann::ordered_json::object();
  result["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    result["summary"][row.name] = row.value;
    result["rows"].push_back(
        {{"figure", row.name}, {"value", row.value}, {"required", row.required}});
  }
  fmt::print("{}\n", result.dump(2));
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("What a call pays to be dispatched");
  app.add_option("--shapes", options.shapes, "Shapes that are called in random order")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--calls", options.calls, "Calls of one repeat")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "Repeats, of which the median counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--size", options.size, "Size of the products of libraries that take turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds in which libraries take turns; 0 for none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  attune::Print(attune::MeasureAll(options), options);
  return 0;
}
