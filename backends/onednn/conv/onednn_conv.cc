#include "backends/onednn/conv/onednn_conv.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/conv/conv_operands.h"
#include "backends/onednn/conv/conv_choices.h"
#include "backends/onednn/host_target.h"
#include "backends/onednn/onednn_adapter.h"
#include "backends/onednn/primitive_sequence.h"
#include "backends/onednn/thread_values.h"

namespace attune::onednn {
namespace {

// Appends `value` unless it is there; the order of first appearance is the order of preference.
void AddValue(std::vector<ParameterValue>& values, const std::string& value) {
  if (std::find(values.begin(), values.end(), ParameterValue(value)) == values.end()) {
    values.emplace_back(value);
  }
}

Constraint OneOf(std::vector<ConvChoice> choices) {
  Constraint constraint;
  constraint.names = {"algorithm", "impl", "layout"};
  constraint.text = "oneDNN offers impl for this algorithm and layout";
  constraint.holds = [choices = std::move(choices)](const Expression::Lookup& at) -> Result<bool> {
    const ConvChoice wanted{std::get<std::string>(*at("algorithm")),
                            std::get<std::string>(*at("impl")),
                            std::get<std::string>(*at("layout"))};
    return std::find(choices.begin(), choices.end(), wanted) != choices.end();
  };
  return constraint;
}

Result<ConfigSpace> SpaceOf(std::vector<ConvChoice> choices, int compute_units) {
  Parameter implementation{"impl", {}};
  Parameter layout{"layout", {}};
  Parameter algorithm{"algorithm", {}};
  for (const ConvChoice& choice : choices) {
    AddValue(implementation.values, choice.implementation);
    AddValue(layout.values, choice.layout);
    AddValue(algorithm.values, choice.algorithm);
  }
  return ConfigSpace::Create({std::move(implementation),
                              std::move(layout),
                              std::move(algorithm),
                              {"threads", ThreadValues(compute_units)}},
                             {OneOf(std::move(choices))});
}

// One operand of the primitive: its argument, its source, and its formats.
struct Slot {
  int argument;
  size_t operand;
  dnnl::memory::desc stored, used;
};

// The slot of the output comes last.
std::vector<Slot> SlotsOf(const Conv& conv, const PlainOperands& plain,
                          const Implementation& used) {
  const ConvRoles roles = RolesOf(conv);
  const auto slot = [](int argument, size_t operand, const auto& from, const auto& to) {
    return Slot{argument, operand, from, to};
  };
  switch (conv.direction) {
    case ConvDirection::kForward: {
      std::vector<Slot> slots = {slot(DNNL_ARG_SRC, roles.x, plain.src, used.src),
                                 slot(DNNL_ARG_WEIGHTS, roles.w, plain.weights, used.weights)};
      if (conv.bias) slots.push_back(slot(DNNL_ARG_BIAS, roles.bias, plain.bias, plain.bias));
      slots.push_back(slot(DNNL_ARG_DST, roles.y, plain.dst, used.dst));
      return slots;
    }
    case ConvDirection::kBackwardData:
      return {slot(DNNL_ARG_DIFF_DST, roles.y, plain.dst, used.dst),
              slot(DNNL_ARG_WEIGHTS, roles.w, plain.weights, used.weights),
              slot(DNNL_ARG_DIFF_SRC, roles.x, plain.src, used.src)};
    case ConvDirection::kBackwardWeights:
      return {slot(DNNL_ARG_SRC, roles.x, plain.src, used.src),
              slot(DNNL_ARG_DIFF_DST, roles.y, plain.dst, used.dst),
              slot(DNNL_ARG_DIFF_WEIGHTS, roles.w, plain.weights, used.weights)};
  }
  return {};
}

void Compose(const std::vector<Slot>& slots, const Implementation& implementation,
             PrimitiveSequence& sequence) {
  PrimitiveSequence::PrimitiveArguments arguments;
  for (size_t i = 0; i + 1 < slots.size(); ++i) {
    const Slot& slot = slots[i];
    arguments.insert({slot.argument, sequence.Input(slot.operand, slot.stored, slot.used)});
  }
  const Slot& output = slots.back();
  const bool direct = output.stored == output.used;
  const dnnl::memory produced = direct ? sequence.BindOperand(output.operand, output.stored)
                                       : sequence.BindWorkspace(output.used);
  arguments.insert({output.argument, produced});
  sequence.Append(implementation.create(), std::move(arguments), implementation.scratchpad);
  if (!direct) sequence.Output(output.operand, output.stored, produced);
}

class ConvSolver final : public Solver {
 public:
  explicit ConvSolver(dnnl::engine engine) : engine_(std::move(engine)) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(CheckHostTarget(target));
    const Conv* conv = problem.As<Conv>();
    if (conv == nullptr) return Unsupported("host.onednn-conv computes convolutions only.");
    ATTUNE_RETURN_IF_ERROR(CheckForm(*conv));
    return AtLibraryEdge("asking for implementations of " + Text(problem),
                         [&] { return FindAny(*conv); });
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    const int threads = std::max(1, target.compute_units);
    const ThreadCountScope scope(threads);
    return AtLibraryEdge("listing implementations of " + Text(problem), [&] {
      return SpaceOf(EnumerateConvChoices(problem.Get<Conv>(), engine_), threads);
    });
  }

  // The library takes one to ten milliseconds to list everything, and a tenth of that to choose.
  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    const int threads = std::max(1, target.compute_units);
    const ThreadCountScope scope(threads);
    return AtLibraryEdge("asking for the default of " + Text(problem), [&]() -> Result<Config> {
      const auto choice = DefaultConvChoice(problem.Get<Conv>(), engine_);
      if (!choice) return Solver::DefaultConfig(problem, target);
      return Config{{"impl", choice->implementation},
                    {"layout", choice->layout},
                    {"algorithm", choice->algorithm},
                    {"threads", ThreadValues(threads).front()}};
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
                         [&] { return Create(problem.Get<Conv>(), config); });
  }

 private:
  Status FindAny(const Conv& conv) const {
    bool offered = false;
    for (const char* layout : {"any", "plain"}) {
      VisitConv(engine_, *CallFor(conv, "direct", layout), [&](const Implementation&) {
        offered = true;
        return false;
      });
      if (offered) return Status::Ok();
    }
    return Unsupported("oneDNN " + LibraryVersion() + " offers nothing on this CPU for " +
                       Text(Problem(conv)) + ".");
  }

  Result<std::unique_ptr<Executable>> Create(const Conv& conv, const Config& config) const {
    const int threads = static_cast<int>(IntegerAt(config, "threads"));
    ATTUNE_RETURN_IF_ERROR(CheckResources(threads));
    const std::string& wanted = StringAt(config, "impl");
    const auto call = CallFor(conv, StringAt(config, "algorithm"), StringAt(config, "layout"));
    if (!call) return InvalidArgument("No such algorithm or layout: " + Text(config) + ".");
    const ThreadCountScope scope(threads);
    std::unique_ptr<PrimitiveSequence> sequence;
    VisitConv(engine_, *call, [&](const Implementation& implementation) {
      if (implementation.name != wanted) return true;
      sequence = std::make_unique<PrimitiveSequence>(engine_, threads);
      Compose(SlotsOf(conv, PlainOperandsOf(conv), implementation), implementation, *sequence);
      return false;
    });
    if (sequence == nullptr) {
      return Unsupported(fmt::format("oneDNN {} does not offer '{}' with {} threads for {}.",
                                     LibraryVersion(), wanted, threads, Text(Problem(conv))));
    }
    return std::unique_ptr<Executable>(std::move(sequence));
  }

  const SolverId id_{"host.onednn-conv", 1};
  const SolverTraits traits_{
      .description = "oneDNN convolution primitives, reorders of every operand included",
      .operator_name = "conv",
      .dynamic = false,
      .compiles = false,
      .deterministic = true,
      .fails_at_exit = true};
  const dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<const Solver> MakeConvSolver(const dnnl::engine& engine) {
  return std::make_unique<ConvSolver>(engine);
}

}  // namespace attune::onednn
