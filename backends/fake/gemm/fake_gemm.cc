#include "backends/fake/gemm/fake_gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/fake/fake_device.h"
#include "backends/fake/fake_faults.h"

namespace attune {
namespace {

// Verification computes them for real, with three plain loops.
constexpr double kMaxFlops = 1e8;
// Phrases of a source that control its own compilation.
constexpr std::string_view kError = " with an error";
constexpr std::string_view kSlowly = " in milliseconds: ";

int64_t IntegerOr(const Config& config, std::string_view name, int64_t otherwise) {
  return config.contains(name) ? IntegerAt(config, name) : otherwise;
}

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

// One product, in place of a kernel.
class GemmRun {
 public:
  GemmRun(const Gemm& gemm, const Arguments& arguments, FakeFault fault)
      : gemm_(gemm),
        arguments_(arguments),
        a_(Pointer(0)),
        b_(Pointer(1)),
        bias_(gemm.bias == Bias::kNone ? nullptr : Pointer(2)),
        c_(Pointer(arguments.operands.size() - 1)),
        fault_(fault) {}

  void Run() {
    for (int64_t batch = 0; batch < gemm_.batch_count; ++batch) {
      for (int64_t n = 0; n < gemm_.n; ++n) {
        for (int64_t m = 0; m < gemm_.m; ++m) {
          float& c = c_[batch * gemm_.stride_c + n * gemm_.ldc + m];
          c = Element(batch, m, n, c);
        }
        if (fault_ == FakeFault::kOverwriteGap && gemm_.ldc > gemm_.m) {
          c_[batch * gemm_.stride_c + n * gemm_.ldc + gemm_.m] = 1;
        }
      }
    }
    SpoilMemory();
  }

 private:
  float* Pointer(size_t operand) const {
    const BufferView& view = arguments_.operands[operand];
    return reinterpret_cast<float*>(static_cast<std::byte*>(view.handle) + view.offset_bytes);
  }

  float Element(int64_t batch, int64_t m, int64_t n, float old) const {
    const int64_t terms = gemm_.k - (fault_ == FakeFault::kWrongResult ? 1 : 0);
    double sum = 0;
    for (int64_t k = 0; k < terms; ++k) {
      const int64_t a = gemm_.trans_a == Transpose::kYes ? k + m * gemm_.lda : m + k * gemm_.lda;
      const int64_t b = gemm_.trans_b == Transpose::kYes ? n + k * gemm_.ldb : k + n * gemm_.ldb;
      const auto factor = static_cast<double>(b_[batch * gemm_.stride_b + b]);
      if (fault_ == FakeFault::kSkipsZeros && factor == 0) continue;
      sum += static_cast<double>(a_[batch * gemm_.stride_a + a]) * factor;
    }
    sum *= arguments_.alpha;
    if (gemm_.beta != ScalarClass::kZero) sum += arguments_.beta * static_cast<double>(old);
    if (bias_ != nullptr) sum += static_cast<double>(bias_[gemm_.bias == Bias::kPerRow ? m : n]);
    return static_cast<float>(Activate(gemm_.activation, sum));
  }

  void SpoilMemory() {
    const int64_t last =
        (gemm_.batch_count - 1) * gemm_.stride_c + (gemm_.n - 1) * gemm_.ldc + gemm_.m - 1;
    if (fault_ == FakeFault::kNan) c_[last / 2] = std::numeric_limits<float>::quiet_NaN();
    if (fault_ == FakeFault::kWritePastEnd) c_[last + 1] = 1;
    if (fault_ == FakeFault::kWriteBeforeStart) c_[-1] = 1;
    if (fault_ == FakeFault::kOverwriteInput) a_[0] = 2;
  }

  const Gemm& gemm_;
  const Arguments& arguments_;
  float* a_;
  const float* b_;
  const float* bias_;
  float* c_;
  FakeFault fault_;
};

class FakeGemmExecutable final : public FakeExecutable {
 public:
  FakeGemmExecutable(const Gemm& gemm, const FakeBehaviour& behaviour, double true_time_ns)
      : gemm_(gemm), behaviour_(behaviour), true_time_ns_(true_time_ns) {}

  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments& arguments) override {
    const bool faulty = ++launches_ >= behaviour_.fault_at_launch;
    if (faulty) ATTUNE_RETURN_IF_ERROR(CommitProcessFault(behaviour_));
    if (faulty && behaviour_.fault == FakeFault::kStale) return Status::Ok();
    GemmRun(gemm_, arguments, faulty ? behaviour_.fault : FakeFault::kNone).Run();
    return Status::Ok();
  }
  const FakeBehaviour& behaviour() const override { return behaviour_; }
  double true_time_ns() const override { return true_time_ns_; }

 private:
  Gemm gemm_;
  FakeBehaviour behaviour_;
  double true_time_ns_;
  int launches_ = 0;
};

class FakeSolver final : public Solver {
 public:
  FakeSolver(std::string name, bool compiles, std::vector<Parameter> parameters,
             const FakeScript& script, int listed = 0)
      : id_{std::move(name), 1},
        parameters_(std::move(parameters)),
        script_(script),
        listed_(listed) {
    traits_.description = "Does what a script says, for tests";
    traits_.operator_name = "gemm";
    traits_.compiles = compiles;
    traits_.listed_on_device = listed > 0;
    traits_.dynamic = listed == 0;
    traits_.ieee_special_values = script.ieee_special_values() != 0;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != "fake") {
      return Unsupported(fmt::format("{} runs on the fake device only, not on a {} one.", id_.name,
                                     target.backend));
    }
    const auto* gemm = problem.As<Gemm>();
    if (gemm == nullptr || gemm->type != DataType::kF32 || gemm->c_type != DataType::kF32) {
      return Unsupported(fmt::format("{} computes f32 products only.", id_.name));
    }
    if (Flops(problem) > kMaxFlops) {
      return Unsupported(fmt::format("{} operations are more than the {} that {} computes.",
                                     Flops(problem), kMaxFlops, id_.name));
    }
    return Status::Ok();
  }

  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    if (parameters_.empty()) return ConfigSpace();
    return ConfigSpace::Create(parameters_, {});
  }

  Result<std::vector<Config>> ListOn(Device&, const Problem&) const override {
    std::vector<Config> configs;
    for (int64_t i = 0; i < listed_; ++i) configs.push_back({{"id", i % 16}, {"tile", i / 16}});
    return configs;
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config& config, const Target&) const override {
    if (!traits_.compiles) return BuildRecipe();
    BuildRecipe recipe;
    recipe.source = "kernel fake_gemm";
    recipe.options = Text(config);
    recipe.compiler = "fakecc 1.0";
    recipe.target = FakeTarget().arch;
    // Build sees nothing but the recipe.
    const FakeBehaviour behaviour = BehaviourOf(config);
    if (behaviour.fault == FakeFault::kBuildFails) recipe.source += kError;
    if (behaviour.fault == FakeFault::kSlowBuild) {
      recipe.source += fmt::format("{}{}", kSlowly, behaviour.delay_ms);
    }
    return recipe;
  }

  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    if (recipe.source.ends_with(kError)) {
      return Internal("fake_gemm:1:23: error: the script says that this does not compile");
    }
    if (const size_t at = recipe.source.find(kSlowly); at != std::string::npos) {
      const int delay_ms = std::stoi(recipe.source.substr(at + kSlowly.size()));
      std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    }
    return Artifact{"binary of " + recipe.source + " " + recipe.options};
  }

  Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                           const Config& config, Device&) const override {
    if (traits_.compiles && artifact.bytes.empty()) {
      return InvalidArgument(fmt::format("{} was given no artifact.", id_.name));
    }
    const FakeBehaviour behaviour = BehaviourOf(config);
    if (behaviour.fault == FakeFault::kLoadFails) {
      return Internal("The fake device cannot load this, as its script says.");
    }
    if (behaviour.fault == FakeFault::kLosesDeviceOnLoad) return LoseDevice();
    if (behaviour.fault == FakeFault::kSlowLoad) {
      std::this_thread::sleep_for(std::chrono::milliseconds(behaviour.delay_ms));
    }
    NoteLoad();
    const double time_ns =
        behaviour.time_ns > 0 ? behaviour.time_ns : FakeModelTimeNs(problem, {id_, config});
    return std::make_unique<FakeGemmExecutable>(problem.Get<Gemm>(), behaviour, time_ns);
  }

 private:
  FakeBehaviour BehaviourOf(const Config& config) const {
    return script_.BehaviourOf({id_, config});
  }

  SolverId id_;
  SolverTraits traits_;
  std::vector<Parameter> parameters_;
  FakeScript script_;
  int listed_;
};

Parameter IntegerParameter(std::string name, std::initializer_list<int64_t> values) {
  return {std::move(name), std::vector<ParameterValue>(values.begin(), values.end())};
}

}  // namespace

double FakeModelTimeNs(const Problem& problem, const Candidate& candidate) {
  const Config& config = candidate.config;
  const auto threads = static_cast<double>(IntegerOr(config, "threads", 1));
  double flops_per_ns = 10;
  if (candidate.solver.name == "fake.reference") flops_per_ns = 1;
  if (candidate.solver.name == "fake.tiled") {
    const double tile = std::log2(static_cast<double>(IntegerOr(config, "tile", 4)));
    const double unroll = std::log2(static_cast<double>(IntegerOr(config, "unroll", 1)));
    flops_per_ns = 20 / (1 + 0.3 * (tile - 4) * (tile - 4) + 0.1 * (2 - unroll));
  }
  return 1000 + Flops(problem) / (flops_per_ns * (1 + 0.8 * (threads - 1)));
}

SolverList MakeFakeSolvers(const FakeScript& script) {
  SolverList solvers;
  const auto add = [&](std::string name, bool compiles, std::vector<Parameter> parameters) {
    solvers.push_back(std::make_unique<const FakeSolver>(std::move(name), compiles,
                                                         std::move(parameters), script));
  };
  add("fake.library", false, {IntegerParameter("threads", {1, 2})});
  add("fake.tiled", true,
      {IntegerParameter("tile", {4, 8, 16, 32}), IntegerParameter("unroll", {1, 2, 4}),
       IntegerParameter("threads", {1, 2})});
  if (script.listed() > 0) {
    solvers.push_back(std::make_unique<const FakeSolver>(
        "fake.listed", false, std::vector<Parameter>(), script, script.listed()));
  }
  add("fake.reference", false, {});
  return solvers;
}

}  // namespace attune
