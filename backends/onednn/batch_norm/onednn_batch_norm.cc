#include "backends/onednn/batch_norm/onednn_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/batch_norm/batch_norm.h"
#include "backends/onednn/batch_norm/batch_norm_sequence.h"
#include "backends/onednn/host_target.h"
#include "backends/onednn/onednn_adapter.h"
#include "backends/onednn/primitive_choice.h"
#include "backends/onednn/primitive_sequence.h"
#include "backends/onednn/thread_values.h"

namespace attune::onednn {
namespace {

// The epsilon of training is part of oneDNN's primitive. Load() does not know it, so it creates the
// primitive for this value, the default of frameworks.
constexpr float kGuessedEpsilon = 1e-5f;
// Primitives for other values that an executable keeps.
constexpr size_t kMaxEpsilons = 4;

// kUnsupported, with the reason, if no version of oneDNN computes `norm`. Ok does not mean that
// this library has an implementation.
Status CheckBatchNorm(const BatchNorm& norm) {
  if (HasAdd(norm.fusion) && norm.pass != BatchNormPass::kBackward) {
    return Unsupported("oneDNN adds no residual to a batch norm.");
  }
  // oneDNN counts both in an int.
  constexpr double kMost = std::numeric_limits<int>::max();
  const double pixels = static_cast<double>(norm.depth) * static_cast<double>(norm.height) *
                        static_cast<double>(norm.width);
  const auto channels = static_cast<double>(ShapeOf(norm).groups);
  if (pixels <= kMost && channels <= kMost) return Status::Ok();
  return Unsupported(
      fmt::format("oneDNN computes batch norms of at most {:.0f} pixels and as many means; this "
                  "one has {:.0f} and {:.0f}.",
                  kMost, pixels, channels));
}

std::vector<PrimitiveChoice> EnumerateChoices(const BatchNorm& norm, const dnnl::engine& engine) {
  PrimitiveChoices choices;
  for (const char* layout : kBatchNormLayouts) {
    VisitBatchNorm(engine, BatchNormCallFor(norm, layout, kGuessedEpsilon),
                   [&](const Implementation& at) {
                     choices.Add({at.name, layout}, {at.src, {}});
                     return true;
                   });
  }
  return choices.Take();
}

// The first of EnumerateChoices; nothing if it takes the whole list to find it.
std::optional<PrimitiveChoice> DefaultChoice(const BatchNorm& norm, const dnnl::engine& engine) {
  std::optional<PrimitiveChoice> usual;
  VisitBatchNorm(engine, BatchNormCallFor(norm, kBatchNormLayouts[0], kGuessedEpsilon),
                 [&](const Implementation& at) {
                   if (!IsReference(at.name))
                     usual = PrimitiveChoice{at.name, kBatchNormLayouts[0]};
                   return false;
                 });
  return usual;
}

// Runs the sequence for the epsilon of the call, which it creates if that is new.
class TrainingExecutable final : public Executable {
 public:
  TrainingExecutable(dnnl::engine engine, const BatchNorm& norm, Config config,
                     std::unique_ptr<PrimitiveSequence> sequence)
      : engine_(std::move(engine)),
        norm_(norm),
        config_(std::move(config)),
        workspace_bytes_(sequence->workspace_bytes()) {
    kept_.reserve(kMaxEpsilons);
    kept_.push_back({kGuessedEpsilon, std::move(sequence)});
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }

  Status Run(const Arguments& arguments) override {
    const auto epsilon = static_cast<float>(arguments.alpha);
    if (!IsSame(kept_.front().epsilon, epsilon)) ATTUNE_RETURN_IF_ERROR(MoveToFront(epsilon));
    return kept_.front().sequence->Run(arguments);
  }

 private:
  struct Kept {
    float epsilon;
    std::unique_ptr<PrimitiveSequence> sequence;
  };

  // NaN is the same as NaN.
  static bool IsSame(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  // The last ones used come first.
  Status MoveToFront(float epsilon) {
    auto at = std::find_if(kept_.begin(), kept_.end(),
                           [&](const Kept& kept) { return IsSame(kept.epsilon, epsilon); });
    if (at == kept_.end()) {
      ATTUNE_ASSIGN_OR_RETURN(auto sequence, Create(epsilon));
      if (kept_.size() == kMaxEpsilons) kept_.pop_back();
      kept_.push_back({epsilon, std::move(sequence)});
      at = kept_.end() - 1;
    }
    std::rotate(kept_.begin(), at, at + 1);
    return Status::Ok();
  }

  Result<std::unique_ptr<PrimitiveSequence>> Create(float epsilon) {
    using Sequence = std::unique_ptr<PrimitiveSequence>;
    ATTUNE_RETURN_IF_ERROR(CheckResources(1));
    return AtLibraryEdge("creating a batch norm for another epsilon", [&]() -> Result<Sequence> {
      Sequence sequence = CreateBatchNormSequence(engine_, norm_, config_, epsilon);
      if (sequence != nullptr && sequence->workspace_bytes() <= workspace_bytes_) return sequence;
      return Unsupported(
          fmt::format("host.onednn-batch_norm cannot run {} with epsilon {} in the workspace of {} "
                      "bytes that it asked for.",
                      Text(config_), epsilon, workspace_bytes_));
    });
  }

  const dnnl::engine engine_;
  const BatchNorm norm_;
  const Config config_;
  std::vector<Kept> kept_;
  const size_t workspace_bytes_;
};

class BatchNormSolver final : public Solver {
 public:
  explicit BatchNormSolver(dnnl::engine engine) : engine_(std::move(engine)) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(CheckHostTarget(target));
    const BatchNorm* norm = problem.As<BatchNorm>();
    if (norm == nullptr) return Unsupported("host.onednn-batch_norm computes batch norms only.");
    ATTUNE_RETURN_IF_ERROR(CheckBatchNorm(*norm));
    return AtLibraryEdge("asking for implementations of " + Text(problem),
                         [&] { return FindAny(*norm); });
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    const int threads = std::max(1, target.compute_units);
    const ThreadCountScope scope(threads);
    return AtLibraryEdge("listing implementations of " + Text(problem), [&] {
      return SpaceOf(EnumerateChoices(problem.Get<BatchNorm>(), engine_), threads);
    });
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    const int threads = std::max(1, target.compute_units);
    const ThreadCountScope scope(threads);
    return AtLibraryEdge("asking for the default of " + Text(problem), [&]() -> Result<Config> {
      const auto choice = DefaultChoice(problem.Get<BatchNorm>(), engine_);
      if (!choice) return Solver::DefaultConfig(problem, target);
      return ConfigOf(*choice, threads);
    });
  }

  bool RunsAfterFork(const Config& config) const override { return onednn::RunsAfterFork(config); }

  // Its sums in f32 lose large means more than attune's bound allows. A config does not state if
  // its pass has sums.
  bool ServesUntried(const Config&) const override { return false; }

  // oneDNN's relu is max(x, 0), which turns NaN into 0.
  bool KeepsSpecialValues(const Problem& problem) const override {
    const BatchNorm* norm = problem.As<BatchNorm>();
    return norm != nullptr && (norm->pass == BatchNormPass::kBackward || !HasRelu(norm->fusion));
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    return AtLibraryEdge("creating " + Text(Candidate{id_, config}),
                         [&] { return Create(problem.Get<BatchNorm>(), config); });
  }

 private:
  Status FindAny(const BatchNorm& norm) const {
    bool is_offered = false;
    VisitBatchNorm(engine_, BatchNormCallFor(norm, kBatchNormLayouts[0], kGuessedEpsilon),
                   [&](const Implementation&) {
                     is_offered = true;
                     return false;
                   });
    if (is_offered) return Status::Ok();
    return Unsupported("oneDNN " + LibraryVersion() + " offers nothing on this CPU for " +
                       Text(Problem(norm)) + ".");
  }

  Result<std::unique_ptr<Executable>> Create(const BatchNorm& norm, const Config& config) const {
    ATTUNE_RETURN_IF_ERROR(CheckResources(static_cast<int>(IntegerAt(config, "threads"))));
    auto sequence = CreateBatchNormSequence(engine_, norm, config, kGuessedEpsilon);
    if (sequence == nullptr) {
      return Unsupported(fmt::format("oneDNN {} does not offer {} for {}.", LibraryVersion(),
                                     Text(config), Text(Problem(norm))));
    }
    if (norm.pass != BatchNormPass::kTraining) {
      return std::unique_ptr<Executable>(std::move(sequence));
    }
    return std::unique_ptr<Executable>(
        std::make_unique<TrainingExecutable>(engine_, norm, config, std::move(sequence)));
  }

  const SolverId id_{"host.onednn-batch_norm", 1};
  const SolverTraits traits_{
      .description = "oneDNN batch normalisation primitives, reorders of tensors included",
      .operator_name = "batch_norm",
      .dynamic = false,
      .compiles = false,
      .deterministic = true,
      .ieee_special_values = true,
      .fails_at_exit = true};
  const dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<const Solver> MakeBatchNormSolver(const dnnl::engine& engine) {
  return std::make_unique<BatchNormSolver>(engine);
}

}  // namespace attune::onednn
