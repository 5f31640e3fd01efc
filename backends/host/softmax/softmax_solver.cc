// host.softmax: kernels of attune for every softmax.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/softmax/softmax.h"
#include "attune/solver/config_checker.h"
#include "attune/solver/solver.h"
#include "attune/space/first_config.h"
#include "backends/host/operators.h"
#include "backends/host/softmax/softmax_kernels.h"

namespace attune::host::softmax {
namespace {

constexpr const char* kKept = "kept";
constexpr const char* kTwice = "computed_twice";
constexpr size_t kAlignment = 64;
// One thread computes this many elements before another thread wakes.
constexpr int64_t kElementsOfThread = 4096;
constexpr int64_t kKeptElements = 1 << 16;

struct Plan {
  Softmax softmax;
  LineKernel kernel = nullptr;
  int threads = 1;
  int64_t lines = 1;  // Neighbouring lines in a call; 1 if the elements of a line are adjacent.
  bool keeps = true;

  // Calls for one outer index.
  int64_t groups() const { return (softmax.inner + lines - 1) / lines; }
  size_t scratch_floats() const {
    if (softmax.backward || !keeps || softmax.logarithm) return 0;
    const auto floats = static_cast<size_t>(softmax.length * lines);
    return (floats + kAlignment - 1) / kAlignment * kAlignment;
  }
};

class SoftmaxExecutable final : public Executable {
 public:
  SoftmaxExecutable(const Plan& plan, ThreadPool& pool) : plan_(plan), pool_(pool) {}

  size_t workspace_bytes() const override {
    const size_t floats = plan_.scratch_floats() * static_cast<size_t>(plan_.threads);
    return floats == 0 ? 0 : floats * sizeof(float) + kAlignment;
  }
  bool is_concurrent() const override { return true; }

  Status Run(const Arguments& arguments) override {
    const int64_t tasks = plan_.softmax.outer * plan_.groups();
    const auto run = [&](int part) {
      const int64_t begin = tasks * part / plan_.threads;
      const int64_t end = tasks * (part + 1) / plan_.threads;
      LineCall call = CallOf(arguments, part);
      for (int64_t task = begin; task < end; ++task) RunTask(arguments, task, call);
    };
    if (plan_.threads == 1) {
      run(0);
    } else {
      pool_.Run(plan_.threads, run);
    }
    return Status::Ok();
  }

 private:
  static std::byte* Address(const BufferView& view) {
    return static_cast<std::byte*>(view.handle) + view.offset_bytes;
  }

  LineCall CallOf(const Arguments& arguments, int part) const {
    LineCall call;
    call.length = plan_.softmax.length;
    call.step = plan_.softmax.inner;
    call.scale = plan_.softmax.scaled ? static_cast<float>(arguments.alpha) : 1.0f;
    call.logarithm = plan_.softmax.logarithm;
    call.keeps_exponentials = plan_.keeps;
    if (plan_.scratch_floats() > 0) {
      auto address = reinterpret_cast<uintptr_t>(Address(arguments.workspace));
      address = (address + kAlignment - 1) / kAlignment * kAlignment;
      call.scratch =
          reinterpret_cast<float*>(address) + plan_.scratch_floats() * static_cast<size_t>(part);
    }
    return call;
  }

  void RunTask(const Arguments& arguments, int64_t task, LineCall& call) const {
    const Softmax& softmax = plan_.softmax;
    const auto size_bytes = static_cast<int64_t>(SizeBytes(softmax.type));
    const int64_t outer = task / plan_.groups();
    const int64_t first = task % plan_.groups() * plan_.lines;
    const int64_t offset = (outer * softmax.length * softmax.inner + first) * size_bytes;
    const int64_t query = outer % softmax.queries;
    const auto& operands = arguments.operands;
    call.count = std::min(plan_.lines, softmax.inner - first);
    call.x = Address(operands[0]) + offset;
    call.out = Address(operands.back()) + offset;
    if (softmax.backward) call.dy = Address(operands[1]) + offset;
    if (softmax.mask == SoftmaxMask::kAdditive) {
      call.mask = Address(operands[1]) + query * softmax.length * size_bytes;
    }
    const bool is_causal = softmax.mask == SoftmaxMask::kCausal;
    call.visible = is_causal ? std::min(softmax.length, query + 1) : softmax.length;
    plan_.kernel(call);
  }

  const Plan plan_;
  ThreadPool& pool_;
};

class SoftmaxSolver final : public Solver, public ConfigChecker {
 public:
  explicit SoftmaxSolver(const OperatorResources& resources)
      : resources_(resources),
        id_{"host.softmax", 1},
        traits_{.description = "Softmax by our own kernels, on our threads",
                .operator_name = "softmax",
                .instant = true,
                .ieee_special_values = true} {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != "host") return Unsupported("Solver host.softmax@1 is for the processor.");
    if (problem.Is<Softmax>()) return Status::Ok();
    return Unsupported("Solver host.softmax@1 computes problems of softmax@2.");
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    SpaceDescription description = Describe(problem.Get<Softmax>());
    return ConfigSpace::Create(std::move(description.parameters),
                               std::move(description.constraints));
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    return FirstConfig(Describe(problem.Get<Softmax>()));
  }

  Result<bool> HasConfig(const Problem& problem, const Config& config,
                         const Target&) const override {
    return attune::HasConfig(Describe(problem.Get<Softmax>()), config);
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    Plan plan;
    plan.softmax = problem.Get<Softmax>();
    plan.kernel = KernelFor(resources_.level, plan.softmax.type, plan.softmax.backward);
    plan.threads = static_cast<int>(IntegerAt(config, "threads"));
    plan.lines = plan.softmax.inner == 1 ? 1 : IntegerAt(config, "lines");
    plan.keeps = StringAt(config, "exponentials") == kKept;
    return std::unique_ptr<Executable>(std::make_unique<SoftmaxExecutable>(plan, *resources_.pool));
  }

 private:
  SpaceDescription Describe(const Softmax& softmax) const {
    const int64_t tasks = softmax.outer * softmax.inner;
    const int64_t most_threads = std::min(tasks, tasks * softmax.length / kElementsOfThread);
    std::vector<ParameterValue> threads;
    for (int64_t count = resources_.pool->max_threads(); count > 1; count /= 2) {
      if (count <= most_threads) threads.emplace_back(count);
    }
    threads.emplace_back(int64_t{1});
    std::vector<ParameterValue> lines = {int64_t{1}};
    if (softmax.inner > 1) lines = {int64_t{32}, int64_t{16}, int64_t{64}};
    std::vector<ParameterValue> exponentials = {std::string(kKept)};
    if (!softmax.backward && !softmax.logarithm) exponentials.emplace_back(std::string(kTwice));
    // Beyond the second-level cache, computing twice is cheaper than reading.
    if (softmax.length > kKeptElements) std::reverse(exponentials.begin(), exponentials.end());
    return {{{"threads", threads}, {"lines", lines}, {"exponentials", exponentials}}, {}};
  }

  const OperatorResources resources_;
  const SolverId id_;
  const SolverTraits traits_;
};

}  // namespace

void AddSolvers(const OperatorResources& resources, SolverList& solvers) {
  solvers.push_back(std::make_unique<SoftmaxSolver>(resources));
}

}  // namespace attune::host::softmax
