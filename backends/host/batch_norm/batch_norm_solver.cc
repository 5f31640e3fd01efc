// host.batch_norm: kernels of attune for every batch norm.
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/solver/config_checker.h"
#include "attune/solver/solver.h"
#include "attune/space/first_config.h"
#include "backends/host/batch_norm/batch_norm_executable.h"
#include "backends/host/batch_norm/batch_norm_kernels.h"
#include "backends/host/batch_norm/batch_norm_plan.h"
#include "backends/host/operators.h"

namespace attune::host::batch_norm {
namespace {

constexpr const char* kGroups = "groups";
constexpr const char* kValues = "values";
constexpr const char* kRuns = "runs";
constexpr const char* kColumns = "columns";
constexpr const char* kCached = "cached";
constexpr const char* kStreamed = "streamed";
// One thread computes this many elements before another thread wakes.
constexpr int64_t kElementsOfThread = 4096;
// Runs of fewer values can be read as columns, and runs of less than a vector
// are at first.
constexpr int64_t kLongRun = 32;
constexpr int64_t kVector = 16;
constexpr int64_t kLongRow = 1024;
// Shorter runs are summed faster one vector at a time; twice as long ones never are.
constexpr int64_t kUnrolledRun = 256;
// Statistics of more groups are not merged between threads.
constexpr int64_t kMostMergedGroups = 1 << 16;
// A smaller tensor stays in a cache; a shorter row has too many lines that are
// not full.
constexpr int64_t kStreamedBytes = 1 << 20;
constexpr int64_t kStreamedRowBytes = 256;
// A larger tensor does not stay in the second-level cache.
constexpr int64_t kLargeBytes = 1 << 21;

std::vector<ParameterValue> Words(std::vector<const char*> words) {
  std::vector<ParameterValue> values;
  for (const char* const word : words) values.emplace_back(std::string(word));
  return values;
}

std::vector<ParameterValue> Ints(std::initializer_list<int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

// Columns are added in one way.
Constraint UnrollsRuns() {
  Constraint constraint;
  constraint.names = {"view", "unroll"};
  constraint.text = "runs are unrolled";
  constraint.holds = [](const Expression::Lookup& at) -> Result<bool> {
    return std::get<int64_t>(*at("unroll")) == 1 || std::get<std::string>(*at("view")) == kRuns;
  };
  return constraint;
}

// The elements of a row that belong to whole groups, and are adjacent.
int64_t RowElements(const BatchNormShape& shape) { return shape.groups * shape.inner; }

Plan PlanOf(const BatchNorm& norm, const Config& config, IsaLevel level) {
  const BatchNormShape shape = ShapeOf(norm);
  Plan plan;
  plan.norm = norm;
  plan.view = ViewOf(shape, StringAt(config, "view") == kColumns);
  plan.run = KernelFor(level, norm.type);
  plan.finish = FinishFor(level);
  plan.threads = static_cast<int>(IntegerAt(config, "threads"));
  plan.splits_values = StringAt(config, "split") == kValues;
  plan.streams = StringAt(config, "stores") == kStreamed;
  plan.unroll = static_cast<int>(IntegerAt(config, "unroll"));
  int64_t adjacent = IntegerAt(config, "adjacent");
  // Every thread has groups.
  if (!plan.splits_values) {
    adjacent = std::min(adjacent, (shape.groups + plan.threads - 1) / plan.threads * shape.inner);
  }
  // Inference adds nothing up.
  const int unroll = plan.is_inference() ? kLongUnroll : plan.unroll;
  plan.tiling = TilingOf(plan.view, adjacent, IntegerAt(config, "tile"), kVector * unroll);
  return plan;
}

class BatchNormSolver final : public Solver, public ConfigChecker {
 public:
  explicit BatchNormSolver(const OperatorResources& resources)
      : resources_(resources),
        id_{"host.batch_norm", 1},
        traits_{.description = "Batch norm by our own kernels, on our threads",
                .operator_name = "batch_norm",
                .instant = true,
                .ieee_special_values = true} {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != "host") {
      return Unsupported("Solver host.batch_norm@1 is for the processor.");
    }
    if (problem.Is<BatchNorm>()) return Status::Ok();
    return Unsupported("Solver host.batch_norm@1 computes problems of batch_norm@1.");
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    SpaceDescription description = Describe(problem.Get<BatchNorm>());
    return ConfigSpace::Create(std::move(description.parameters),
                               std::move(description.constraints));
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    return FirstConfig(Describe(problem.Get<BatchNorm>()));
  }

  Result<bool> HasConfig(const Problem& problem, const Config& config,
                         const Target&) const override {
    return attune::HasConfig(Describe(problem.Get<BatchNorm>()), config);
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    return MakeExecutable(PlanOf(problem.Get<BatchNorm>(), config, resources_.level),
                          *resources_.pool);
  }

 private:
  std::vector<ParameterValue> Threads(const BatchNormShape& shape) const {
    std::vector<ParameterValue> threads;
    for (int64_t count = resources_.pool->max_threads(); count > 1; count /= 2) {
      if (count * kElementsOfThread <= shape.elements()) threads.emplace_back(count);
    }
    threads.emplace_back(int64_t{1});
    return threads;
  }

  static std::vector<ParameterValue> Views(const BatchNormShape& shape) {
    if (shape.inner == 1) return Words({kColumns});
    if (shape.inner >= kLongRun) return Words({kRuns});
    return shape.inner < kVector ? Words({kColumns, kRuns}) : Words({kRuns, kColumns});
  }

  // A thread has whole groups, or a part of the values of each group.
  std::vector<ParameterValue> Splits(const BatchNormShape& shape) const {
    if (shape.groups > kMostMergedGroups) return Words({kGroups});
    if (ViewOf(shape, shape.inner == 1).is_joined) return Words({kValues});
    // A thread of few columns reads parts of lines.
    const bool has_long_rows = shape.groups >= kLongRow && shape.groups >= shape.outer;
    const bool is_busy = shape.groups >= resources_.pool->max_threads();
    return is_busy && (shape.inner > 1 || has_long_rows) ? Words({kGroups, kValues})
                                                         : Words({kValues, kGroups});
  }

  // Lengths of which each makes other tiles than the one before it.
  static std::vector<ParameterValue> Adjacent(const BatchNormShape& shape) {
    std::vector<ParameterValue> lengths = {int64_t{1024}};
    if (RowElements(shape) > 1024 && shape.inner < 4096) lengths.emplace_back(int64_t{4096});
    if (RowElements(shape) > 256 && shape.inner < 1024) lengths.emplace_back(int64_t{256});
    return lengths;
  }

  static std::vector<ParameterValue> Stores(const BatchNormShape& shape, DataType type) {
    const auto size_bytes = static_cast<int64_t>(SizeBytes(type));
    const int64_t row_bytes = (shape.inner == 1 ? shape.groups : shape.inner) * size_bytes;
    const int64_t tensor_bytes = shape.elements() * size_bytes;
    if (tensor_bytes < kStreamedBytes || row_bytes < kStreamedRowBytes) return Words({kCached});
    return tensor_bytes < kLargeBytes ? Words({kCached, kStreamed}) : Words({kStreamed, kCached});
  }

  static std::vector<ParameterValue> Unrolls(const BatchNorm& norm) {
    constexpr int64_t kLong = kLongUnroll;
    const int64_t inner = ShapeOf(norm).inner;
    if (norm.pass == BatchNormPass::kInference || inner == 1) return {int64_t{1}};
    if (inner > 2 * kUnrolledRun) return {kLong};
    return inner > kUnrolledRun ? Ints({kLong, 1}) : Ints({1, kLong});
  }

  SpaceDescription Describe(const BatchNorm& norm) const {
    const BatchNormShape shape = ShapeOf(norm);
    // Merging the statistics of a tile costs more than reading a large tile again from memory.
    std::vector<ParameterValue> tiles;
    for (const int64_t elements : {262144, 65536}) {
      if (shape.elements() > elements) tiles.emplace_back(elements);
    }
    tiles.emplace_back(int64_t{16384});
    if (shape.elements() > 4096) tiles.emplace_back(int64_t{4096});
    return {{{"threads", Threads(shape)},
             {"split", Splits(shape)},
             {"view", Views(shape)},
             {"adjacent", Adjacent(shape)},
             {"tile", tiles},
             {"stores", Stores(shape, norm.type)},
             {"unroll", Unrolls(norm)}},
            {UnrollsRuns()}};
  }

  const OperatorResources resources_;
  const SolverId id_;
  const SolverTraits traits_;
};

}  // namespace

void AddSolvers(const OperatorResources& resources, SolverList& solvers) {
  solvers.push_back(std::make_unique<BatchNormSolver>(resources));
}

}  // namespace attune::host::batch_norm
