#include "backends/onednn/gemm/onednn_gemm.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/onednn/host_target.h"
#include "backends/onednn/onednn_adapter.h"
#include "backends/onednn/primitive_choice.h"
#include "backends/onednn/primitive_sequence.h"
#include "backends/onednn/thread_values.h"

namespace attune::onednn {
namespace {

using dnnl::memory;

// If alpha or beta is neither 0 nor 1, its value is part of oneDNN's primitive. Load() does not
// know the value, so it creates the primitive for these guesses, and the first launch with other
// values creates it again.
constexpr float kGuessedAlpha = 2.0f;
constexpr float kGuessedBeta = 0.5f;

// A column-major matrix is the row-major view of its transpose, and the product of transposes is
// taken in the opposite order: dst (n x m) = src (n x k, out of b) * weights (k x m, out of a).
struct View {
  DataType type = DataType::kF32;
  memory::dims extents, strides;

  memory::desc Stored() const { return memory::desc(extents, TypeOf(type), strides); }
  memory::desc Any() const { return memory::desc(extents, TypeOf(type), memory::format_tag::any); }
};

View Batched(View view, const Gemm& gemm, int64_t batch_stride) {
  if (gemm.batch_count == 1) return view;
  const int64_t span =
      std::max(view.extents[0] * view.strides[0], view.extents[1] * view.strides[1]);
  view.extents.insert(view.extents.begin(), batch_stride == 0 ? 1 : gemm.batch_count);
  view.strides.insert(view.strides.begin(), batch_stride == 0 ? span : batch_stride);
  return view;
}

memory::dims Strides(Transpose transpose, int64_t leading) {
  return transpose == Transpose::kNo ? memory::dims{leading, 1} : memory::dims{1, leading};
}

View SourceView(const Gemm& gemm) {
  return Batched({gemm.type, {gemm.n, gemm.k}, Strides(gemm.trans_b, gemm.ldb)}, gemm,
                 gemm.stride_b);
}
View WeightsView(const Gemm& gemm) {
  return Batched({gemm.type, {gemm.k, gemm.m}, Strides(gemm.trans_a, gemm.lda)}, gemm,
                 gemm.stride_a);
}
View DestinationView(const Gemm& gemm) {
  return Batched({gemm.c_type, {gemm.n, gemm.m}, {gemm.ldc, 1}}, gemm, gemm.stride_c);
}
View BiasView(const Gemm& gemm) {
  View view{gemm.c_type, {1, gemm.m}, {gemm.m, 1}};
  if (gemm.bias == Bias::kPerColumn) view = {gemm.c_type, {gemm.n, 1}, {1, 1}};
  if (gemm.batch_count > 1) {
    view.extents.insert(view.extents.begin(), 1);
    view.strides.insert(view.strides.begin(), std::max(gemm.m, gemm.n));
  }
  return view;
}

struct Scalars {
  float alpha = 1;
  float beta = 0;

  friend bool operator==(const Scalars&, const Scalars&) = default;
};

Scalars GuessedScalars(const Gemm& gemm) {
  const auto guess = [](ScalarClass scalar, float other) {
    if (scalar == ScalarClass::kOther) return other;
    return scalar == ScalarClass::kOne ? 1.0f : 0.0f;
  };
  return {guess(gemm.alpha, kGuessedAlpha), guess(gemm.beta, kGuessedBeta)};
}

MatmulCall CallFor(const Gemm& gemm, const std::string& layout, const Scalars& scalars) {
  const bool any = layout == "any";
  MatmulCall call;
  call.src = any ? SourceView(gemm).Any() : SourceView(gemm).Stored();
  call.weights = any ? WeightsView(gemm).Any() : WeightsView(gemm).Stored();
  call.dst = DestinationView(gemm).Stored();
  if (gemm.bias != Bias::kNone) call.bias = BiasView(gemm).Stored();
  // The primitive would scale its own bias with alpha, and knows only one value for each of its
  // columns.
  call.bias_after_sum = gemm.bias == Bias::kPerColumn ||
                        (gemm.bias != Bias::kNone && gemm.alpha != ScalarClass::kOne);
  call.alpha = scalars.alpha;
  call.beta = scalars.beta;
  call.activation = gemm.activation;
  call.math = gemm.math;
  return call;
}

// oneDNN's int8 products sum pairs of 8-bit products in 16 bits on x86 processors without VNNI or
// AMX, and saturate there ("Nuances of int8 computations" of its developer guide). The result then
// depends on the values, so a check may pass and a later call be wrong.
Status CheckSums(const Gemm& gemm, const Target& target) {
  if (gemm.type != DataType::kI8 || !target.arch.starts_with("x86-64")) return Status::Ok();
  const auto isa = target.properties.find("isa");
  if (isa == target.properties.end()) return Status::Ok();
  for (const char* exact : {"vnni", "amx-int8"}) {
    if (isa->second.find(exact) != std::string::npos) return Status::Ok();
  }
  return Unsupported(
      "oneDNN's products of i8 may saturate on processors with neither VNNI nor AMX; this one "
      "has " +
      isa->second + ".");
}

// oneDNN computes all steps after the sum in f32, which holds whole numbers only up to 2^24. Sums
// of i8 reach that from k = 1025 on, and C can hold larger numbers from the start.
Status CheckExact(const Gemm& gemm, const Target& target) {
  const bool is_sum = gemm.alpha == ScalarClass::kOne && gemm.beta == ScalarClass::kZero &&
                      gemm.bias == Bias::kNone && gemm.activation == Activation::kNone;
  if (gemm.c_type == DataType::kI32 && !is_sum) {
    return Unsupported(
        "oneDNN rounds products into i32 to f32 if alpha is not 1 or beta is not 0, and with a "
        "bias or an activation.");
  }
  return CheckSums(gemm, target);
}

// The default first: the library's pick for the operands in place. Reference loops are left out
// beside the rest.
std::vector<PrimitiveChoice> EnumerateChoices(const Gemm& gemm, const dnnl::engine& engine) {
  PrimitiveChoices choices;
  for (const char* layout : {"plain", "any"}) {
    VisitMatmul(engine, CallFor(gemm, layout, GuessedScalars(gemm)), [&](const Implementation& at) {
      choices.Add({at.name, layout}, {at.src, at.weights});
      return true;
    });
  }
  return choices.Take();
}

// The first of EnumerateChoices; nothing if it takes the whole list to find it.
std::optional<PrimitiveChoice> DefaultChoice(const Gemm& gemm, const dnnl::engine& engine) {
  std::optional<PrimitiveChoice> usual;
  VisitMatmul(engine, CallFor(gemm, "plain", GuessedScalars(gemm)), [&](const Implementation& at) {
    if (!IsReference(at.name)) usual = PrimitiveChoice{at.name, "plain"};
    return false;
  });
  return usual;
}

// Null if the library does not offer `implementation` for this call.
std::unique_ptr<PrimitiveSequence> CreateSequence(const dnnl::engine& engine, const Gemm& gemm,
                                                  const Config& config, const Scalars& scalars) {
  const int threads = static_cast<int>(IntegerAt(config, "threads"));
  const MatmulCall call = CallFor(gemm, StringAt(config, "layout"), scalars);
  const bool has_bias = gemm.bias != Bias::kNone;
  const ThreadCountScope scope(threads);
  std::unique_ptr<PrimitiveSequence> sequence;
  VisitMatmul(engine, call, [&](const Implementation& at) {
    if (at.name != StringAt(config, "impl")) return true;
    sequence = std::make_unique<PrimitiveSequence>(engine, threads);
    PrimitiveSequence::PrimitiveArguments arguments = {
        {DNNL_ARG_SRC, sequence->Input(1, SourceView(gemm).Stored(), at.src)},
        {DNNL_ARG_WEIGHTS, sequence->Input(0, WeightsView(gemm).Stored(), at.weights)},
        {DNNL_ARG_DST, sequence->BindOperand(has_bias ? 3 : 2, call.dst)}};
    if (has_bias) {
      const int slot = call.bias_after_sum ? PostBiasArgument(call) : DNNL_ARG_BIAS;
      arguments.insert({slot, sequence->BindOperand(2, call.bias)});
    }
    sequence->Append(at.create(), std::move(arguments), at.scratchpad);
    return false;
  });
  return sequence;
}

// Runs a sequence, and replaces it when alpha or beta is another than the one that it was created
// for.
class GemmExecutable final : public Executable {
 public:
  GemmExecutable(dnnl::engine engine, const Gemm& gemm, Config config,
                 std::unique_ptr<PrimitiveSequence> sequence)
      : engine_(std::move(engine)),
        gemm_(gemm),
        config_(std::move(config)),
        scalars_(GuessedScalars(gemm)),
        sequence_(std::move(sequence)),
        workspace_bytes_(sequence_->workspace_bytes()) {}

  size_t workspace_bytes() const override { return workspace_bytes_; }

  Status Run(const Arguments& arguments) override {
    Scalars wanted = scalars_;
    if (gemm_.alpha == ScalarClass::kOther) wanted.alpha = static_cast<float>(arguments.alpha);
    if (gemm_.beta == ScalarClass::kOther) wanted.beta = static_cast<float>(arguments.beta);
    if (wanted != scalars_) ATTUNE_RETURN_IF_ERROR(Replace(wanted));
    return sequence_->Run(arguments);
  }

 private:
  Status Replace(const Scalars& scalars) {
    ATTUNE_RETURN_IF_ERROR(CheckResources(1));
    return AtLibraryEdge("creating a product for another alpha or beta", [&]() -> Status {
      auto sequence = CreateSequence(engine_, gemm_, config_, scalars);
      if (sequence == nullptr || sequence->workspace_bytes() > workspace_bytes_) {
        return Unsupported(
            fmt::format("host.onednn-gemm cannot run {} with alpha {} and beta {} in the workspace "
                        "of {} bytes that it asked for.",
                        Text(config_), scalars.alpha, scalars.beta, workspace_bytes_));
      }
      sequence_ = std::move(sequence);
      scalars_ = scalars;
      return Status::Ok();
    });
  }

  const dnnl::engine engine_;
  const Gemm gemm_;
  const Config config_;
  Scalars scalars_;
  std::unique_ptr<PrimitiveSequence> sequence_;
  const size_t workspace_bytes_;
};

class GemmSolver final : public Solver {
 public:
  explicit GemmSolver(dnnl::engine engine) : engine_(std::move(engine)) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(CheckHostTarget(target));
    const Gemm* gemm = problem.As<Gemm>();
    if (gemm == nullptr) return Unsupported("host.onednn-gemm computes matrix products only.");
    for (const DataType type : {gemm->type, gemm->c_type}) {
      if (TypeOf(type) == memory::data_type::undef) {
        return Unsupported("oneDNN has no type " + std::string(Name(type)) + ".");
      }
    }
    ATTUNE_RETURN_IF_ERROR(CheckExact(*gemm, target));
    if (gemm->alpha == ScalarClass::kZero) {
      return Unsupported("host.onednn-gemm does not compute products with alpha 0.");
    }
    return AtLibraryEdge("asking for implementations of " + Text(problem),
                         [&] { return FindAny(*gemm); });
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    const ThreadCountScope scope(std::max(1, target.compute_units));
    return AtLibraryEdge("listing implementations of " + Text(problem), [&] {
      return SpaceOf(EnumerateChoices(problem.Get<Gemm>(), engine_), target.compute_units);
    });
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    const ThreadCountScope scope(std::max(1, target.compute_units));
    return AtLibraryEdge("asking for the default of " + Text(problem), [&]() -> Result<Config> {
      const auto choice = DefaultChoice(problem.Get<Gemm>(), engine_);
      if (!choice) return Solver::DefaultConfig(problem, target);
      return ConfigOf(*choice, target.compute_units);
    });
  }

  bool RunsAfterFork(const Config& config) const override { return onednn::RunsAfterFork(config); }

  // oneDNN's relu is max(x, 0), which turns NaN into 0.
  bool KeepsSpecialValues(const Problem& problem) const override {
    const Gemm* gemm = problem.As<Gemm>();
    return gemm != nullptr && gemm->activation != Activation::kRelu;
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    return AtLibraryEdge("creating " + Text(Candidate{id_, config}),
                         [&] { return Create(problem.Get<Gemm>(), config); });
  }

 private:
  Result<std::unique_ptr<Executable>> Create(const Gemm& gemm, const Config& config) const {
    ATTUNE_RETURN_IF_ERROR(CheckResources(static_cast<int>(IntegerAt(config, "threads"))));
    auto sequence = CreateSequence(engine_, gemm, config, GuessedScalars(gemm));
    if (sequence == nullptr) {
      return Unsupported(fmt::format("oneDNN {} does not offer {} for {}.", LibraryVersion(),
                                     Text(config), Text(Problem(gemm))));
    }
    return std::unique_ptr<Executable>(
        std::make_unique<GemmExecutable>(engine_, gemm, config, std::move(sequence)));
  }

  Status FindAny(const Gemm& gemm) const {
    bool offered = false;
    VisitMatmul(engine_, CallFor(gemm, "plain", GuessedScalars(gemm)), [&](const Implementation&) {
      offered = true;
      return false;
    });
    if (offered) return Status::Ok();
    return Unsupported("oneDNN " + LibraryVersion() + " offers nothing on this CPU for " +
                       Text(Problem(gemm)) + ".");
  }

  const SolverId id_{"host.onednn-gemm", 1};
  const SolverTraits traits_{.description = "oneDNN matmul primitive, epilogue included",
                             .operator_name = "gemm",
                             .dynamic = false,
                             .compiles = false,
                             .deterministic = true,
                             .ieee_special_values = true,
                             .fails_at_exit = true};
  const dnnl::engine engine_;
};

}  // namespace

std::unique_ptr<const Solver> MakeGemmSolver(const dnnl::engine& engine) {
  return std::make_unique<GemmSolver>(engine);
}

}  // namespace attune::onednn
