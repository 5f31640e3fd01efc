// host.gemv-gemm.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/gemm_solver.h"
#include "backends/host/gemm/gemm_solvers.h"

namespace attune::host {
namespace {

// The matrix is read once for every four of them.
constexpr int64_t kMostVectors = 8;
constexpr int64_t kVectorsAtOnce = 4;

struct SkinnyConfig {
  int streams;
  int64_t block;
  int64_t prefetch_bytes;
};

class SkinnyKernel final : public ProductKernel {
 public:
  SkinnyKernel(const KernelTable& kernels, const Gemm& gemm, SkinnyConfig config)
      : kernels_(kernels),
        config_(config),
        type_(gemm.type),
        rows_are_vectors_(gemm.m < gemm.n && gemm.m <= kMostVectors) {
    const int64_t rows = rows_are_vectors_ ? gemm.n : gemm.m;
    const int64_t count = std::min(kVectorsAtOnce, std::min(gemm.m, gemm.n));
    // Room for both to be aligned to 64 bytes.
    constexpr int64_t kSlack = 32;
    scratch_elements_ = (rows + gemm.k + kSlack) * count;
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(scratch_elements_) * SizeBytes(type_);
  }
  bool Multiply(const MatrixProduct& product, std::byte* scratch) const override {
    if (type_ == DataType::kF32) {
      kernels_.skinny_f32(CallOf<float>(product, scratch));
    } else {
      kernels_.skinny_f64(CallOf<double>(product, scratch));
    }
    return true;
  }

 private:
  template <class T>
  SkinnyCall<T> CallOf(const MatrixProduct& product, std::byte* scratch) const {
    const MatrixProduct p = rows_are_vectors_ ? Transposed(product) : product;
    SkinnyCall<T> call;
    call.rows = p.m;
    call.depth = p.k;
    call.count = p.n;
    call.transpose = p.transpose_a;
    call.matrix = reinterpret_cast<const T*>(p.a);
    call.ld = p.lda;
    call.x = reinterpret_cast<const T*>(p.b);
    call.x_step = p.transpose_b ? p.ldb : 1;
    call.x_next = p.transpose_b ? 1 : p.ldb;
    call.y = reinterpret_cast<T*>(p.c);
    call.y_step = rows_are_vectors_ ? p.ldc : 1;
    call.y_next = rows_are_vectors_ ? 1 : p.ldc;
    call.alpha = static_cast<T>(p.alpha);
    call.beta = static_cast<T>(p.beta);
    call.streams = config_.streams;
    call.block = config_.block;
    call.prefetch_bytes = config_.prefetch_bytes;
    call.scratch = reinterpret_cast<T*>(scratch);
    return call;
  }

  const KernelTable& kernels_;
  const SkinnyConfig config_;
  const DataType type_;
  const bool rows_are_vectors_;
  int64_t scratch_elements_;
};

class SkinnyGemm final : public GemmSolver {
 public:
  explicit SkinnyGemm(HostResources resources)
      : GemmSolver("host.gemv-gemm",
                   {.description = "Our own product of a matrix with a few vectors",
                    .operator_name = "gemm",
                    .instant = true,
                    .ieee_special_values = true},
                   resources) {}

 private:
  Status Accepts(const Gemm& gemm) const override {
    if (std::min(gemm.m, gemm.n) <= kMostVectors) return Status::Ok();
    return Unsupported(fmt::format("{} computes a C of at most {} rows or columns, not {} x {}.",
                                   Subject(), kMostVectors, gemm.m, gemm.n));
  }

  SpaceDescription Describe(const Gemm& gemm, const Target& target) const override {
    SpaceDescription space = DescribeDivision(target, UsefulSplits(gemm));
    space.parameters.push_back({"streams", {int64_t{8}, int64_t{4}, int64_t{2}, int64_t{1}}});
    space.parameters.push_back({"block", {int64_t{4096}, int64_t{1024}, int64_t{16384}}});
    space.parameters.push_back({"prefetch_bytes", {int64_t{0}, int64_t{512}, int64_t{2048}}});
    return space;
  }

  Result<std::unique_ptr<const ProductKernel>> MakeKernel(const Gemm& gemm,
                                                          const Config& config) const override {
    const SkinnyConfig skinny{static_cast<int>(IntegerAt(config, "streams")),
                              IntegerAt(config, "block"), IntegerAt(config, "prefetch_bytes")};
    return std::unique_ptr<const ProductKernel>(
        std::make_unique<SkinnyKernel>(*resources().kernels, gemm, skinny));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeSkinnyGemm(HostResources resources) {
  return std::make_unique<SkinnyGemm>(resources);
}

}  // namespace attune::host
