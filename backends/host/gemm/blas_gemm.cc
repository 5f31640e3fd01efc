// host.openblas-gemm and host.blis-gemm.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/gemm_solver.h"
#include "backends/host/gemm/gemm_solvers.h"

namespace attune::host {
namespace {

class BlasKernel final : public ProductKernel {
 public:
  BlasKernel(BlasLibrary& library, DataType type, bool as_vector, int library_threads)
      : library_(library), type_(type), as_vector_(as_vector), library_threads_(library_threads) {}

  size_t scratch_bytes() const override { return 0; }
  bool Multiply(const MatrixProduct& product, std::byte*) const override {
    if (std::isnan(product.beta)) {
      FillWithNan(product);
      return true;
    }
    return as_vector_ ? library_.Gemv(type_, product, library_threads_)
                      : library_.Gemm(type_, product, library_threads_);
  }
  bool IsReady() const override { return library_.IsReady(library_threads_); }

 private:
  // BLIS takes a NaN beta for 0, and OpenBLAS's gemv computes NaN times 0 as 0.
  void FillWithNan(const MatrixProduct& product) const {
    const auto fill = [&]<class T>(T nan) {
      T* c = reinterpret_cast<T*>(product.c);
      for (int64_t j = 0; j < product.n; ++j) std::fill_n(c + j * product.ldc, product.m, nan);
    };
    if (type_ == DataType::kF32) return fill(std::numeric_limits<float>::quiet_NaN());
    fill(std::numeric_limits<double>::quiet_NaN());
  }

  BlasLibrary& library_;
  const DataType type_;
  const bool as_vector_;
  const int library_threads_;
};

class BlasGemm final : public GemmSolver {
 public:
  BlasGemm(const LazyBlas& blas, HostResources resources)
      : GemmSolver("host." + blas.dialect().name + "-gemm",
                   {.description = fmt::format("Matrix product of {}, on its threads or on ours",
                                               blas.dialect().name),
                    .operator_name = "gemm",
                    .instant = true,
                    .ieee_special_values = true},
                   resources),
        blas_(blas) {}

  // Convolutions ask with configs that have no split, for which the library divides the product.
  bool RunsAfterFork(const Config& config) const override {
    const auto split = config.find("split");
    const bool is_library =
        split == config.end() || ParseWorkSplit(StringAt(config, "split")) == WorkSplit::kLibrary;
    if (!is_library || IntegerAt(config, "threads") == 1) return true;
    const Result<BlasLibrary*> library = blas_.Get();
    return library.ok() && (*library)->threads_survive_fork();
  }

 private:
  Status Accepts(const Gemm&) const override { return blas_.Get().status(); }

  SpaceDescription Describe(const Gemm& gemm, const Target& target) const override {
    std::vector<WorkSplit> splits = UsefulSplits(gemm);
    // Attune cannot guarantee threads that each call starts, and C is wrong if one is missing.
    // Threads of its own divide the product just as well.
    const Result<BlasLibrary*> library = blas_.Get();
    if (library.ok() && !(*library)->starts_threads_in_calls()) {
      splits.insert(splits.begin(), WorkSplit::kLibrary);
    }
    SpaceDescription space = DescribeDivision(target, splits);
    Parameter routine{"routine", {std::string("gemm")}};
    // Neither library turns a product with a vector into the routine for it, which reads the matrix
    // once instead of packing it.
    if (gemm.m == 1 || gemm.n == 1) routine.values.emplace_back(std::string("gemv"));
    space.parameters.push_back(std::move(routine));
    return space;
  }

  Result<std::unique_ptr<const ProductKernel>> MakeKernel(const Gemm& gemm,
                                                          const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(BlasLibrary * library, blas_.Get());
    const Division division = DivisionOf(config);
    const bool is_library = division.split == WorkSplit::kLibrary;
    const int library_threads = is_library ? division.threads : 1;
    ATTUNE_RETURN_IF_ERROR(library->Prepare(is_library ? 1 : division.threads, library_threads)
                               .WithContext("cannot make " + Subject() + " ready"));
    return std::unique_ptr<const ProductKernel>(std::make_unique<BlasKernel>(
        *library, gemm.type, StringAt(config, "routine") == "gemv", library_threads));
  }

  const LazyBlas& blas_;
};

}  // namespace

std::unique_ptr<const Solver> MakeBlasGemm(const LazyBlas& blas, HostResources resources) {
  return std::make_unique<BlasGemm>(blas, resources);
}

}  // namespace attune::host
