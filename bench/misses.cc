// Counts and times what a plan server does for a new problem, without the computation.
//
//   misses [--case NAME] [--policy NAME] [--misses N] [--json]
//
// Instructions of one miss: the difference between two runs with different --misses, divided by the
// difference of the numbers.
//
//   valgrind --tool=callgrind --callgrind-out-file=/dev/null misses --case record --misses 1000
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "attune/dispatch/plan_server.h"
#include "attune/index/memory_choices.h"
#include "attune/ops/gemm/gemm.h"
#include "bench/counted_new.h"
#include "runtime/host_fallback.h"
#include "runtime/places.h"
#include "runtime/request.h"

namespace attune {
namespace {

struct Options {
  std::string what = "record";
  std::string policy = "never";
  int misses = 1000;
  bool json = false;
};

// Its kernels are never compiled, so that the fallback serves.
class UncompiledSolver final : public Solver {
 public:
  UncompiledSolver() {
    traits_.operator_name = "gemm";
    traits_.compiles = true;
  }
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{"source", "", "", ""};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Unavailable("No compiler."); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unavailable("No code.");
  }

 private:
  const SolverId id_{"bench.uncompiled-gemm", 1};
  SolverTraits traits_;
};

template <class T>
T Required(Result<T> result) {
  if (result.ok()) return *std::move(result);
  fmt::print(stderr, "misses: {}\n", result.error().message());
  std::exit(1);
}

attune_gemm GemmAt(int i) {
  attune_gemm gemm{};
  gemm.m = gemm.lda = gemm.ldc = 16 + i % 97;
  gemm.n = 16 + i / 97;
  gemm.k = gemm.ldb = 32;
  return gemm;
}

Problem ProblemAt(int i) {
  const attune_gemm gemm = GemmAt(i);
  return Normalized(PackedGemm(gemm.m, gemm.n, gemm.k));
}

class Misses {
 public:
  explicit Misses(const Options& options) : options_(options) {
    place_ = Required(FindPlace(backends_, "cpu"));
    device_ = Required(place_.backend->Open("cpu"));
    DispatchParts parts;
    parts.solvers = &place_.backend->solvers();
    parts.device = device_.get();
    parts.target = place_.target;
    parts.environment = place_.environment;
    parts.kernels = &kernels_;
    if (options.what == "fallback") {
      uncompiled_.push_back(std::make_unique<UncompiledSolver>());
      fallback_ = std::make_unique<HostFallback>(*place_.backend, *device_);
      parts.solvers = &uncompiled_;
      parts.fallback = fallback_.get();
    }
    if (options.what == "record") Record();
    server_ = std::make_unique<PlanServer>(parts, DispatchOptions(), ServerOptionsOf(), HooksOf());
  }

  // The nanoseconds of each miss.
  std::vector<double> Run() {
    std::vector<double> times_ns;
    for (int i = 0; i < options_.misses; ++i) {
      const Problem problem = ProblemAt(i);
      const PlanKey key = KeyOfCall(GemmAt(i), CallClasses(), kNoWorkspaceLimit);
      const auto begin = std::chrono::steady_clock::now();
      const Plan* plan = server_->FindOrMake(key, problem, kNoWorkspaceLimit);
      const std::chrono::duration<double, std::nano> taken =
          std::chrono::steady_clock::now() - begin;
      times_ns.push_back(taken.count());
      if (!plan->failure().ok()) Required<int>(plan->failure());
    }
    return times_ns;
  }

  std::string summary() const { return Summary(server_->counters()); }

 private:
  ServerOptions ServerOptionsOf() const {
    ServerOptions options;
    options.policy = *ParseMissPolicy(options_.policy);
    options.max_plans = static_cast<size_t>(options_.misses) + 1;
    // The background waits until the end of the program.
    options.calm = options.longest_hold = std::chrono::hours(1);
    return options;
  }

  ServerHooks HooksOf() const {
    ServerHooks hooks;
    hooks.choices = [choices = std::make_shared<const LayeredChoices>(
                         std::vector<std::shared_ptr<const ChoiceSource>>{
                             std::make_shared<MemoryChoices>(), recorded_})] { return choices; };
    hooks.tune = [](const Problem&) { return Status::Ok(); };
    hooks.record = [](const Problem&) { return Result<bool>(true); };
    return hooks;
  }

  // The default of each problem as its best candidate, on this machine.
  void Record() {
    const auto target = std::make_shared<const Target>(place_.target);
    const auto environment = std::make_shared<const Environment>(place_.environment);
    for (int i = 0; i < options_.misses; ++i) {
      const Problem problem = ProblemAt(i);
      IndexedChoice choice;
      choice.target = target;
      choice.environment = environment;
      for (const auto& solver : place_.backend->solvers()) {
        if (!solver->IsApplicable(problem, place_.target).ok()) continue;
        const Config config = Required(solver->DefaultConfig(problem, place_.target));
        const double median_ns = 1000.0 * static_cast<double>(choice.ranking.size() + 1);
        choice.ranking.push_back({{solver->id(), config}, median_ns, 0, 0, 1000, false});
        if (choice.ranking.size() == kMaxRanked) break;
      }
      recorded_->Add(problem, std::move(choice));
    }
  }

  const Options options_;
  const BackendList backends_ = LazyBackends();
  Place place_;
  std::unique_ptr<Device> device_;
  MemoryKernelCache kernels_;
  SolverList uncompiled_;
  std::unique_ptr<HostFallback> fallback_;
  const std::shared_ptr<MemoryChoices> recorded_ = std::make_shared<MemoryChoices>();
  std::unique_ptr<PlanServer> server_;
};

double PercentileOf(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
}

int Run(const Options& options) {
  Misses misses(options);
  const uint64_t allocations = AllocationsOfThisThread();
  const std::vector<double> times_ns = misses.Run();
  const auto allocated = static_cast<double>(AllocationsOfThisThread() - allocations);
  const nlohmann::ordered_json row = {{"median_ns", PercentileOf(times_ns, 0.5)},
                                      {"p90_ns", PercentileOf(times_ns, 0.9)},
                                      {"allocations", allocated / options.misses}};
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"summary", row}, {"rows", {row}}}.dump(2));
    return 0;
  }
  fmt::print("{}\n", misses.summary());
  for (const auto& [name, value] : row.items()) {
    fmt::print("{:<12} {:>10.1f}\n", name, value.get<double>());
  }
  return 0;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  CLI::App app("What a miss costs without the computation");
  app.add_option("--case", options.what, "What is known of the problems")
      ->check(CLI::IsMember({"record", "default", "fallback"}))
      ->capture_default_str();
  app.add_option("--policy", options.policy, "The policy for misses")
      ->check(CLI::IsMember({"never", "record", "deferred", "inline"}))
      ->capture_default_str();
  app.add_option("--misses", options.misses, "Problems")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return attune::Run(options);
}
