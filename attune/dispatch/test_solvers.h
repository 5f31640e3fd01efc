// Solvers and a device for tests of this module: every step of them is counted, and a test
// decides how they end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attune/dispatch/dispatcher.h"
#include "attune/dispatch/test_choices.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/solver/code_keeper.h"

namespace attune {

// Steps by the thread that took them. Thread-safe.
class StepCount {
 public:
  void Add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[std::this_thread::get_id()];
  }
  int all() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    int sum = 0;
    for (const auto& [thread, count] : counts_) sum += count;
    return sum;
  }
  int in_this_thread() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = counts_.find(std::this_thread::get_id());
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;  // Guards counts_.
  std::map<std::thread::id, int> counts_;
};

// Really computes a packed product of f32, each variant in another order.
class TestExecutable final : public Executable {
 public:
  TestExecutable(const Gemm& gemm, int64_t variant, size_t workspace_bytes)
      : gemm_(gemm), variant_(variant), workspace_bytes_(workspace_bytes) {}

  size_t workspace_bytes() const override { return workspace_bytes_; }
  bool is_concurrent() const override { return true; }
  Status Run(const Arguments& arguments) override {
    auto* c = static_cast<float*>(arguments.operands[2].handle);
    std::fill_n(c, gemm_.m * gemm_.n, 0.0F);
    const int64_t outer = variant_ == 0 ? gemm_.m : variant_ == 1 ? gemm_.n : gemm_.k;
    const int64_t middle = variant_ == 0 ? gemm_.n : gemm_.m;
    const int64_t inner = variant_ == 2 ? gemm_.n : gemm_.k;
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < middle; ++j) {
        for (int64_t l = 0; l < inner; ++l) AddTerm(arguments, c, i, j, l);
      }
    }
    return Status::Ok();
  }

 private:
  void AddTerm(const Arguments& arguments, float* c, int64_t i, int64_t j, int64_t l) const {
    const auto* a = static_cast<const float*>(arguments.operands[0].handle);
    const auto* b = static_cast<const float*>(arguments.operands[1].handle);
    const int64_t m = variant_ == 0 ? i : j;
    const int64_t n = variant_ == 0 ? j : variant_ == 1 ? i : l;
    const int64_t k = variant_ == 2 ? i : l;
    c[m + n * gemm_.m] += a[m + k * gemm_.m] * b[k + n * gemm_.k];
  }

  const Gemm gemm_;
  const int64_t variant_;
  const size_t workspace_bytes_;
};

// Its configs are {variant=0} to {variant=2}; set the public fields before it is used.
class TestSolver final : public Solver, public CodeKeeper {
 public:
  static constexpr int64_t kVariants = 3;

  explicit TestSolver(std::string name) : id_{std::move(name), 1} {
    traits_.operator_name = "gemm";
    traits_.instant = true;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target&) const override {
    if (!problem.Is<Gemm>()) return Unsupported(id_.name + " computes gemm.");
    return applies ? applies(problem.Get<Gemm>()) : Status::Ok();
  }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    spaces.Add();
    std::vector<ParameterValue> values;
    for (int64_t i = 0; i < kVariants; ++i) values.emplace_back(i);
    return ConfigSpace::Create({Parameter{"variant", values}}, {});
  }
  Result<Config> DefaultConfig(const Problem&, const Target&) const override {
    defaults.Add();
    return At(0).config;
  }
  bool RunsAfterFork(const Config& config) const override {
    return IntegerAt(config, "variant") >= first_variant_after_fork;
  }
  bool ServesUntried(const Config& config) const override {
    return IntegerAt(config, "variant") >= first_variant_untried;
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config& config, const Target&) const override {
    if (!traits_.compiles) return BuildRecipe{};
    return BuildRecipe{Text(Candidate{id_, config}), "", "test compiler", "test"};
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    builds.Add();
    if (on_build) on_build();
    if (!build_failure.ok()) return build_failure;
    return Artifact{recipe.source};
  }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    loads.Add();
    if (on_load) ATTUNE_RETURN_IF_ERROR(on_load(config));
    return std::make_unique<TestExecutable>(problem.Get<Gemm>(), IntegerAt(config, "variant"),
                                            workspace_bytes);
  }

  bool HasLoadedAny() const override { return has_loaded; }
  bool HasLoaded(const Problem&, const Config&, Device&) const override { return has_loaded; }
  Result<std::unique_ptr<Executable>> LoadAgain(const Problem& problem, const Config& config,
                                                Device&) const override {
    loads_again.Add();
    if (loses_code) return NotFound("The code is not loaded any more.");
    return std::make_unique<TestExecutable>(problem.Get<Gemm>(), IntegerAt(config, "variant"),
                                            workspace_bytes);
  }

  Candidate At(int64_t variant) const {
    Candidate candidate{id_, {}};
    candidate.config["variant"] = variant;
    return candidate;
  }

  SolverTraits traits_;
  size_t workspace_bytes = 0;
  int64_t first_variant_after_fork = 0;
  int64_t first_variant_untried = 0;
  bool has_loaded = false;  // CodeKeeper::HasLoaded,
  bool loses_code = false;  // and the code goes before it is loaded again.
  std::function<Status(const Gemm&)> applies;
  std::function<void()> on_build;
  Status build_failure;
  std::function<Status(const Config&)> on_load;
  mutable StepCount spaces;
  mutable StepCount defaults;
  mutable StepCount builds;
  mutable StepCount loads;
  mutable StepCount loads_again;

 private:
  const SolverId id_;
};

class TestBuffer final : public Buffer {
 public:
  explicit TestBuffer(size_t size_bytes) : bytes_(size_bytes) {}
  void* handle() const override { return const_cast<std::byte*>(bytes_.data()); }
  size_t size_bytes() const override { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

class TestDevice final : public Device {
 public:
  const Target& target() const override { return target_; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override {
    allocations.Add();
    return std::unique_ptr<Buffer>(std::make_unique<TestBuffer>(size_bytes));
  }
  Status Upload(std::span<const std::byte>, BufferView) override { return Status::Ok(); }
  Status Download(BufferView, std::span<std::byte>) override { return Status::Ok(); }
  Status Synchronize() override { return Status::Ok(); }
  Result<double> TimeNs(Executable&, const Arguments&, const TimingRequest&) override {
    return Unsupported("A test of dispatch measures nothing.");
  }
  Status AwaitQuiescence(int64_t) override { return Status::Ok(); }
  // The handle of a queue points to the state that it is in.
  Result<QueueState> StateOf(void* queue) override {
    ATTUNE_RETURN_IF_ERROR(state_failure);
    return *static_cast<QueueState*>(queue);
  }
  Status TellWhenOver(void*, std::shared_ptr<std::atomic<bool>> over) override {
    if (!tells_when_over) return Unsupported("This test has graphs that stay.");
    graphs.push_back(std::move(over));
    return Status::Ok();
  }

  mutable StepCount allocations;
  Status state_failure;
  bool tells_when_over = false;
  std::vector<std::shared_ptr<std::atomic<bool>>> graphs;  // Those that it was asked about.

 private:
  const Target target_ = TestTarget();
};

inline Problem ProductOf(int64_t m, int64_t n, int64_t k) {
  return Normalized(PackedGemm(m, n, k));
}

// A machine with four solvers, in this order.
struct TestMachine {
  TestSolver* slow = nullptr;      // test.slow-gemm: its creation is long.
  TestSolver* quick = nullptr;     // test.quick-gemm: instant.
  TestSolver* compiled = nullptr;  // test.compiled-gemm: compiles, each size for itself.
  TestSolver* plain = nullptr;     // test.plain-gemm: instant, the last resort.
  SolverList solvers;
  TestDevice device;
  MemoryKernelCache kernels;
  Fallback* fallback = nullptr;  // Borrowed.
  // Shared with the hooks of servers.
  std::shared_ptr<TestChoices> choices = std::make_shared<TestChoices>();

  TestMachine() {
    slow = Add("test.slow-gemm");
    slow->traits_.instant = false;
    quick = Add("test.quick-gemm");
    compiled = Add("test.compiled-gemm");
    compiled->traits_.instant = false;
    compiled->traits_.compiles = true;
    compiled->traits_.dynamic = false;
    plain = Add("test.plain-gemm");
    plain->traits_.last_resort = true;
  }
  TestMachine(const TestMachine&) = delete;
  TestMachine& operator=(const TestMachine&) = delete;

  TestSolver* Add(const std::string& name) {
    auto solver = std::make_unique<TestSolver>(name);
    TestSolver* added = solver.get();
    solvers.push_back(std::move(solver));
    return added;
  }
  DispatchParts Parts() {
    DispatchParts parts;
    parts.solvers = &solvers;
    parts.device = &device;
    parts.target = TestTarget();
    parts.environment = TestEnvironment();
    parts.kernels = &kernels;
    parts.fallback = fallback;
    return parts;
  }
  int builds() const { return compiled->builds.all(); }
  int builds_in_this_thread() const { return compiled->builds.in_this_thread(); }
  // Creations that take long.
  int slow_loads_in_this_thread() const {
    return slow->loads.in_this_thread() + compiled->loads.in_this_thread();
  }
};

}  // namespace attune
