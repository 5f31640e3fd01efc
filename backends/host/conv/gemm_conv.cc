#include "backends/host/conv/gemm_conv.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "attune/solver/config_checker.h"
#include "attune/space/first_config.h"
#include "backends/host/conv/gemm_conv_executable.h"
#include "backends/host/conv/gemm_conv_plan.h"

namespace attune::host {
namespace {

// A gathered matrix larger than this is not tried.
constexpr int64_t kMaxColumnBytes = int64_t{1} << 30;
// Sizes of gathered matrices that fit a second-level cache, a part of a third-level one, and all of
// it.
constexpr int64_t kCacheBlockBytes[] = {int64_t{1} << 20, int64_t{1} << 18, int64_t{1} << 22};

std::string LibraryOf(const Solver& gemm) {
  std::string name = gemm.id().name;
  const size_t dot = name.find('.');
  if (dot != std::string::npos) name.erase(0, dot + 1);
  if (name.ends_with("-gemm")) name.resize(name.size() - 5);
  return name;
}

int64_t BytesPerRow(const Conv& conv) {
  const ConvForm form = FormOf(conv);
  return form.in_channels * form.taps() * form.y.extents[2] *
         static_cast<int64_t>(SizeBytes(conv.type));
}

// Whole images first.
std::vector<ParameterValue> RowValues(const Conv& conv, bool direct) {
  const int64_t per_image = GemmConvPlan::RowsPerImage(conv);
  const int64_t row_bytes = BytesPerRow(conv);
  std::vector<int64_t> rows;
  if (direct || per_image * row_bytes <= kMaxColumnBytes) rows.push_back(per_image);
  const int64_t whole = conv.batch * per_image;
  if (GemmConvPlan::CanFold(conv) && (direct || whole * row_bytes <= kMaxColumnBytes)) {
    rows.push_back(whole);
  }
  for (const int64_t bytes : kCacheBlockBytes) {
    const int64_t size = std::max<int64_t>(1, bytes / row_bytes);
    const bool known = std::find(rows.begin(), rows.end(), size) != rows.end();
    if (!direct && size < per_image && !known) rows.push_back(size);
  }
  return {rows.begin(), rows.end()};
}

// The numbers that solvers of products have, the largest first.
std::vector<ParameterValue> ThreadValues(int most) {
  std::vector<ParameterValue> values;
  values.emplace_back(int64_t{most});
  for (int64_t threads = std::bit_floor(static_cast<uint64_t>(most)); threads >= 1; threads /= 2) {
    if (threads < most) values.emplace_back(threads);
  }
  return values;
}

// A plan lists its products, up to one for each output row: 128 MiB at this limit.
constexpr int64_t kMostUnits = int64_t{1} << 22;

class GemmConvSolver final : public Solver, public ConfigChecker {
 public:
  GemmConvSolver(GemmConvKind kind, const Solver& gemm, ThreadPool& pool)
      : kind_(kind), gemm_(gemm), pool_(pool) {
    const std::string library = LibraryOf(gemm);
    const bool pointwise = kind == GemmConvKind::kPointwise;
    // Version 1 multiplied on all cores where its config said one thread.
    id_.version = 2;
    id_.name = (pointwise ? "host.conv1x1-" : "host.im2col-") + library;
    traits_.description = pointwise
                              ? "1 x 1 convolution as a product by " + gemm.id().name
                              : "Inputs gathered into a matrix, multiplied by " + gemm.id().name;
    traits_.operator_name = "conv";
    traits_.dynamic = gemm.traits().dynamic;
    traits_.deterministic = gemm.traits().deterministic;
    traits_.instant = gemm.traits().instant;
    traits_.fails_at_exit = gemm.traits().fails_at_exit;
    traits_.last_resort = gemm.traits().last_resort;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    const Conv* conv = problem.As<Conv>();
    if (conv == nullptr) return Unsupported(id_.name + " computes convolutions only.");
    if (conv->mode != ConvMode::kConvolution) {
      return Unsupported(id_.name + " computes plain convolutions, not transposed ones.");
    }
    if (GemmConvPlan::IsPointwise(*conv) != (kind_ == GemmConvKind::kPointwise)) {
      return Unsupported(kind_ == GemmConvKind::kPointwise
                             ? id_.name + " computes 1 x 1 filters without padding only."
                             : id_.name + " leaves 1 x 1 filters to host.conv1x1-" +
                                   LibraryOf(gemm_) + ".");
    }
    ATTUNE_RETURN_IF_ERROR(CheckType(*conv));
    // The product of one image is that of each of them, and planning all takes longer than asking.
    Conv image = *conv;
    image.batch = 1;
    if (conv->batch > kMostUnits / GemmConvPlan::RowsPerImage(image)) {
      return Unsupported(fmt::format("{} computes up to {} rows of outputs, not {} images of {}.",
                                     id_.name, kMostUnits, conv->batch,
                                     GemmConvPlan::RowsPerImage(image)));
    }
    const GemmConvPlan plan(image, GemmConvPlan::RowsPerImage(image));
    return gemm_.IsApplicable(plan.ProductOf(plan.units().front(), false).gemm, target)
        .WithContext(id_.name);
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    return ConfigSpace::Create(ParametersOf(problem.Get<Conv>(), target), {});
  }

  Result<Config> DefaultConfig(const Problem& problem, const Target& target) const override {
    return FirstConfig({ParametersOf(problem.Get<Conv>(), target), {}});
  }

  Result<bool> HasConfig(const Problem& problem, const Config& config,
                         const Target& target) const override {
    return attune::HasConfig({ParametersOf(problem.Get<Conv>(), target), {}}, config);
  }

  // Both have the parameter `threads`, which is all that this depends on.
  bool RunsAfterFork(const Config& config) const override { return gemm_.RunsAfterFork(config); }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device& device) const override {
    const Conv& conv = problem.Get<Conv>();
    const int threads = static_cast<int>(IntegerAt(config, "threads"));
    auto executable = std::make_unique<GemmConvExecutable>(
        conv, GemmConvPlan(conv, IntegerAt(config, "rows")), threads, pool_);
    ATTUNE_RETURN_IF_ERROR(executable->LoadProducts(gemm_, device));
    return std::unique_ptr<Executable>(std::move(executable));
  }

 private:
  std::vector<Parameter> ParametersOf(const Conv& conv, const Target& target) const {
    Conv image = conv;
    image.batch = 1;
    const bool direct = GemmConvPlan(image, GemmConvPlan::RowsPerImage(image)).direct();
    const int most = std::min(std::max(1, target.compute_units), pool_.max_threads());
    return {{"rows", RowValues(conv, direct)}, {"threads", ThreadValues(most)}};
  }

  // Sums over images, taps or into a bias would be rounded to 16 bits at every step.
  Status CheckType(const Conv& conv) const {
    if (conv.type == DataType::kF32 || conv.type == DataType::kF64) return Status::Ok();
    const bool narrow = conv.type == DataType::kBf16 || conv.type == DataType::kF16;
    if (narrow && conv.direction == ConvDirection::kForward && !conv.bias) return Status::Ok();
    return Unsupported(id_.name +
                       " computes f32 and f64, and 16-bit types forward without a bias; not " +
                       std::string(Name(conv.type)) + " here.");
  }

  const GemmConvKind kind_;
  const Solver& gemm_;
  ThreadPool& pool_;
  SolverId id_;
  SolverTraits traits_;
};

}  // namespace

std::unique_ptr<const Solver> MakeGemmConvSolver(GemmConvKind kind, const Solver& gemm,
                                                 ThreadPool& pool) {
  return std::make_unique<GemmConvSolver>(kind, gemm, pool);
}

}  // namespace attune::host
