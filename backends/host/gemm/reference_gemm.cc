// host.reference-gemm: the definition, written down.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/gemm_solvers.h"
#include "backends/host/gemm/narrow_float.h"
#include "backends/host/gemm/work_split.h"

namespace attune::host {
namespace {

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kGelu:
      return x * (1 + std::erf(x * std::sqrt(0.5))) / 2;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

bool IsFloating(DataType type) { return type != DataType::kI8 && type != DataType::kI32; }

class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(const Gemm& gemm, int threads, ThreadPool& pool)
      : gemm_(gemm), threads_(threads), pool_(pool) {}

  // A column of A and the sums of some columns of C, in double, for each thread.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(threads_) * DoublesPerThread() * sizeof(double);
  }

  bool is_concurrent() const override { return true; }

  Status Run(const Arguments& arguments) override {
    const int64_t groups = (gemm_.n + kColumnsAtOnce - 1) / kColumnsAtOnce;
    pool_.Run(threads_, [&](int part) {
      auto* scratch = reinterpret_cast<double*>(Address(arguments.workspace)) +
                      static_cast<size_t>(part) * DoublesPerThread();
      const IndexRange mine = PartOf(groups * gemm_.batch_count, 1, threads_, part);
      for (int64_t index = mine.begin; index < mine.end; ++index) {
        ComputeColumns(arguments, index / groups, index % groups * kColumnsAtOnce, scratch);
      }
    });
    return Status::Ok();
  }

 private:
  // A is read, and converted, once for so many columns of C.
  static constexpr int64_t kColumnsAtOnce = 4;

  size_t DoublesPerThread() const {
    return static_cast<size_t>(gemm_.m) * static_cast<size_t>(1 + kColumnsAtOnce);
  }
  static std::byte* Address(BufferView view) {
    return static_cast<std::byte*>(view.handle) + view.offset_bytes;
  }
  static const std::byte* Element(const std::byte* base, int64_t index, DataType type) {
    return base + index * static_cast<int64_t>(SizeBytes(type));
  }

  // Columns [j, j + kColumnsAtOnce) of product `item`, as far as they exist.
  void ComputeColumns(const Arguments& arguments, int64_t item, int64_t j, double* scratch) const {
    const std::byte* a = Address(arguments.operands[0]);
    const std::byte* b = Address(arguments.operands[1]);
    const bool trans_a = gemm_.trans_a == Transpose::kYes;
    const bool trans_b = gemm_.trans_b == Transpose::kYes;
    const int64_t columns = std::min(kColumnsAtOnce, gemm_.n - j);
    double* a_column = scratch;
    double* sums = scratch + gemm_.m;
    std::fill_n(sums, gemm_.m * columns, 0.0);
    for (int64_t p = 0; p < gemm_.k; ++p) {
      const int64_t a_first = item * gemm_.stride_a + (trans_a ? p : p * gemm_.lda);
      ReadElements(gemm_.type, Element(a, a_first, gemm_.type), trans_a ? gemm_.lda : 1, gemm_.m,
                   a_column);
      for (int64_t r = 0; r < columns; ++r) {
        const int64_t at = trans_b ? (j + r) + p * gemm_.ldb : p + (j + r) * gemm_.ldb;
        const double factor =
            ReadElement(gemm_.type, Element(b, item * gemm_.stride_b + at, gemm_.type));
        double* sum = sums + r * gemm_.m;
        for (int64_t i = 0; i < gemm_.m; ++i) sum[i] += a_column[i] * factor;
      }
    }
    for (int64_t r = 0; r < columns; ++r) {
      WriteColumn(arguments, item, j + r, sums + r * gemm_.m);
    }
  }

  void WriteColumn(const Arguments& arguments, int64_t item, int64_t j, const double* sums) const {
    const auto bytes = static_cast<int64_t>(SizeBytes(gemm_.c_type));
    std::byte* c =
        Address(arguments.operands.back()) + (item * gemm_.stride_c + j * gemm_.ldc) * bytes;
    const std::byte* bias = gemm_.bias == Bias::kNone ? nullptr : Address(arguments.operands[2]);
    const double alpha = gemm_.alpha == ScalarClass::kZero  ? 0
                         : gemm_.alpha == ScalarClass::kOne ? 1
                                                            : arguments.alpha;
    const double beta = gemm_.beta == ScalarClass::kZero  ? 0
                        : gemm_.beta == ScalarClass::kOne ? 1
                                                          : arguments.beta;
    for (int64_t i = 0; i < gemm_.m; ++i) {
      double value = alpha == 0 ? 0 : alpha * sums[i];
      if (beta != 0) value += beta * ReadElement(gemm_.c_type, c + i * bytes);
      if (bias != nullptr) {
        const int64_t at = gemm_.bias == Bias::kPerRow ? i : j;
        value += ReadElement(gemm_.c_type, Element(bias, at, gemm_.c_type));
      }
      WriteElement(gemm_.c_type, Activate(gemm_.activation, value), c + i * bytes);
    }
  }

  const Gemm gemm_;
  const int threads_;
  ThreadPool& pool_;
};

class ReferenceGemm final : public Solver {
 public:
  explicit ReferenceGemm(HostResources resources)
      : id_{"host.reference-gemm", 1},
        traits_{.description = "The definition of a matrix product, summed in double precision",
                .operator_name = "gemm",
                .instant = true,
                .ieee_special_values = true,
                .last_resort = true},
        pool_(*resources.pool) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    const Gemm* gemm = problem.As<Gemm>();
    if (target.backend != "host" || gemm == nullptr) {
      return Unsupported(fmt::format("Solver {} computes gemm on the host, not {} on '{}'.",
                                     Text(id_), OperatorName(problem), target.backend));
    }
    if (SizeBytes(gemm->c_type) == 1 && IsFloating(gemm->c_type)) {
      return Unsupported(fmt::format("Solver {} writes no {}.", Text(id_), Name(gemm->c_type)));
    }
    if (IsFloating(gemm->type) != IsFloating(gemm->c_type)) {
      return Unsupported(fmt::format("Solver {} does not turn {} into {}.", Text(id_),
                                     Name(gemm->type), Name(gemm->c_type)));
    }
    return Status::Ok();
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    return ConfigSpace::Create({{"threads", ThreadValues(target.compute_units)}}, {});
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device& device) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, device.target()));
    return std::unique_ptr<Executable>(std::make_unique<ReferenceExecutable>(
        problem.Get<Gemm>(), static_cast<int>(IntegerAt(config, "threads")), pool_));
  }

 private:
  const SolverId id_;
  const SolverTraits traits_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<const Solver> MakeReferenceGemm(HostResources resources) {
  return std::make_unique<ReferenceGemm>(resources);
}

}  // namespace attune::host
