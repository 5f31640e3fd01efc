#include "backends/onednn/softmax/onednn_softmax.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/softmax/softmax.h"
#include "backends/onednn/host_target.h"
#include "backends/onednn/onednn_adapter.h"
#include "backends/onednn/primitive_choice.h"
#include "backends/onednn/primitive_sequence.h"
#include "backends/onednn/thread_values.h"

namespace attune::onednn {
namespace {

using dnnl::memory;
using Tag = dnnl::memory::format_tag;

// The layout of the tensors inside of the primitive; `plain` has no reorder. With `_f32` the result
// of a forward pass is f32, and a reorder rounds it: oneDNN 2.6 to 3.2 keep exponentials in the
// result, and so round twice if the result has 16 bits.
constexpr const char* kSoftmaxLayouts[] = {"plain",         "axis_last",   "blocked16",
                                           "blocked8",      "plain_f32",   "axis_last_f32",
                                           "blocked16_f32", "blocked8_f32"};
constexpr const char* kPlainSoftmax = kSoftmaxLayouts[0];

bool IsWide(std::string_view layout) { return layout.ends_with("_f32"); }

// Reorders help only if a line is not contiguous.
std::vector<std::string> LayoutsOf(const Softmax& softmax) {
  const bool has_wide = !softmax.backward && softmax.type != DataType::kF32;
  std::vector<std::string> layouts;
  for (const std::string_view layout : kSoftmaxLayouts) {
    const bool is_reordered = !layout.starts_with(kPlainSoftmax);
    if (IsWide(layout) && !has_wide) continue;
    if (is_reordered && softmax.inner == 1) continue;
    layouts.emplace_back(layout);
  }
  return layouts;
}

memory::desc TensorIn(const Softmax& softmax, std::string_view layout, DataType type) {
  const Tag tag = layout.starts_with("axis_last")   ? Tag::acb
                  : layout.starts_with("blocked16") ? Tag::aBc16b
                  : layout.starts_with("blocked8")  ? Tag::aBc8b
                                                    : Tag::abc;
  return memory::desc({softmax.outer, softmax.length, softmax.inner}, TypeOf(type), tag);
}

// The side of the source is f32 if it is scaled, so that the product is rounded once.
SoftmaxCall SoftmaxCallFor(const Softmax& softmax, const std::string& layout) {
  SoftmaxCall call;
  call.backward = softmax.backward;
  call.logarithm = softmax.logarithm;
  call.src = TensorIn(softmax, layout, softmax.scaled ? DataType::kF32 : softmax.type);
  call.dst = TensorIn(softmax, layout, IsWide(layout) ? DataType::kF32 : softmax.type);
  return call;
}

std::vector<PrimitiveChoice> EnumerateChoices(const Softmax& softmax, const dnnl::engine& engine) {
  PrimitiveChoices choices;
  for (const std::string& layout : LayoutsOf(softmax)) {
    VisitSoftmax(engine, SoftmaxCallFor(softmax, layout), [&](const Implementation& at) {
      choices.Add({at.name, layout}, {at.src, at.dst});
      return true;
    });
  }
  return choices.Take();
}

// The first of EnumerateChoices; nothing if it takes the whole list to find it.
std::optional<PrimitiveChoice> DefaultChoice(const Softmax& softmax, const dnnl::engine& engine) {
  std::optional<PrimitiveChoice> usual;
  VisitSoftmax(engine, SoftmaxCallFor(softmax, kPlainSoftmax), [&](const Implementation& at) {
    if (!IsReference(at.name)) usual = PrimitiveChoice{at.name, kPlainSoftmax};
    return false;
  });
  return usual;
}

// Composes the sequence of one problem around an implementation.
class SoftmaxComposer {
 public:
  SoftmaxComposer(const dnnl::engine& engine, const Softmax& softmax, PrimitiveSequence& sequence)
      : engine_(engine),
        softmax_(softmax),
        stored_(TensorIn(softmax, kPlainSoftmax, softmax.type)),
        sequence_(sequence) {}

  void Compose(const Implementation& implementation) {
    if (softmax_.backward) {
      ComposeBackward(implementation);
    } else {
      ComposeForward(implementation);
    }
  }

 private:
  void ComposeForward(const Implementation& implementation) {
    memory x = sequence_.Input(0, stored_, implementation.src);
    if (softmax_.scaled) {
      const bool is_operand = implementation.src == stored_;
      const memory scaled = is_operand ? sequence_.BindWorkspace(stored_) : x;
      AppendScaling(x, scaled);
      x = scaled;
    }
    const memory y = BindResult(1, implementation.dst);
    sequence_.Append(implementation.create(), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}},
                     implementation.scratchpad);
    Store(y, 1);
  }

  void ComposeBackward(const Implementation& implementation) {
    const memory y = sequence_.Input(0, stored_, implementation.dst);
    const memory dy = sequence_.Input(1, stored_, implementation.dst);
    const memory dx = BindResult(2, implementation.src);
    sequence_.Append(implementation.create(),
                     {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}},
                     implementation.scratchpad);
    if (softmax_.scaled) AppendScaling(dx, dx);
    Store(dx, 2);
  }

  memory BindResult(size_t operand, const memory::desc& used) {
    return used == stored_ ? sequence_.BindOperand(operand, stored_)
                           : sequence_.BindWorkspace(used);
  }
  void Store(const memory& result, size_t operand) {
    if (result.get_desc() != stored_) sequence_.Output(operand, stored_, result);
  }

  void AppendScaling(const memory& from, const memory& to) {
    const memory factor =
        sequence_.BindWorkspace(memory::desc({1, 1, 1}, memory::data_type::f32, Tag::abc));
    sequence_.Append(
        [factor](const Arguments& call) { *FloatsOf(factor) = static_cast<float>(call.alpha); });
    const ChosenPrimitive scaling = MakeScaling(engine_, from.get_desc(), factor.get_desc());
    sequence_.Append(scaling.primitive,
                     {{DNNL_ARG_SRC_0, from}, {DNNL_ARG_SRC_1, factor}, {DNNL_ARG_DST, to}},
                     scaling.scratchpad);
  }

  const dnnl::engine& engine_;
  const Softmax& softmax_;
  const memory::desc stored_;
  PrimitiveSequence& sequence_;
};

class SoftmaxSolver final : public Solver {
 public:
  explicit SoftmaxSolver(dnnl::engine engine) : engine_(std::move(engine)) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(CheckHostTarget(target));
    const Softmax* softmax = problem.As<Softmax>();
    if (softmax == nullptr) return Unsupported("host.onednn-softmax computes softmax only.");
    if (softmax->mask != SoftmaxMask::kNone) return Unsupported("oneDNN's softmax has no mask.");
    return AtLibraryEdge("asking for implementations of " + Text(problem),
                         [&] { return FindAny(*softmax); });
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    const int threads = std::max(1, target.compute_units);
    const ThreadCountScope scope(threads);
    return AtLibraryEdge("listing implementations of " + Text(problem), [&] {
      return SpaceOf(EnumerateChoices(problem.Get<Softmax>(), engine_), threads);
    });
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    const int threads = std::max(1, target.compute_units);
    const ThreadCountScope scope(threads);
    return AtLibraryEdge("asking for the default of " + Text(problem), [&]() -> Result<Config> {
      const auto choice = DefaultChoice(problem.Get<Softmax>(), engine_);
      if (!choice) return Solver::DefaultConfig(problem, target);
      return ConfigOf(*choice, threads);
    });
  }

  bool RunsAfterFork(const Config& config) const override { return onednn::RunsAfterFork(config); }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    return AtLibraryEdge("creating " + Text(Candidate{id_, config}),
                         [&] { return Create(problem.Get<Softmax>(), config); });
  }

 private:
  Status FindAny(const Softmax& softmax) const {
    bool is_offered = false;
    VisitSoftmax(engine_, SoftmaxCallFor(softmax, kPlainSoftmax), [&](const Implementation&) {
      is_offered = true;
      return false;
    });
    if (is_offered) return Status::Ok();
    return Unsupported("oneDNN " + LibraryVersion() + " offers nothing on this CPU for " +
                       Text(Problem(softmax)) + ".");
  }

  Result<std::unique_ptr<Executable>> Create(const Softmax& softmax, const Config& config) const {
    const int threads = static_cast<int>(IntegerAt(config, "threads"));
    ATTUNE_RETURN_IF_ERROR(CheckResources(threads));
    const ThreadCountScope scope(threads);
    std::unique_ptr<PrimitiveSequence> sequence;
    VisitSoftmax(engine_, SoftmaxCallFor(softmax, StringAt(config, "layout")),
                 [&](const Implementation& implementation) {
                   if (implementation.name != StringAt(config, "impl")) return true;
                   sequence = std::make_unique<PrimitiveSequence>(engine_, threads);
                   SoftmaxComposer(engine_, softmax, *sequence).Compose(implementation);
                   return false;
                 });
    if (sequence == nullptr) {
      return Unsupported(fmt::format("oneDNN {} does not offer {} for {}.", LibraryVersion(),
                                     Text(config), Text(Problem(softmax))));
    }
    return std::unique_ptr<Executable>(std::move(sequence));
  }

  const SolverId id_{"host.onednn-softmax", 1};
  const SolverTraits traits_{
      .description = "oneDNN softmax primitives, reorders of tensors included",
      .operator_name = "softmax",
      .dynamic = false,
      .compiles = false,
      .deterministic = true,
      .fails_at_exit = true};
  const dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<const Solver> MakeSoftmaxSolver(const dnnl::engine& engine) {
  return std::make_unique<SoftmaxSolver>(engine);
}

}  // namespace attune::onednn
