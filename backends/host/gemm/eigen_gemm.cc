// host.eigen-gemm.
#include <utility>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/gemm_call_of.h"
#include "backends/host/gemm/gemm_solver.h"
#include "backends/host/gemm/gemm_solvers.h"
#include "backends/host/library_report.h"

#ifdef ATTUNE_WITH_EIGEN
#include "backends/host/kernels/eigen_table.h"
#endif

namespace attune::host {

#ifdef ATTUNE_WITH_EIGEN
namespace {

const EigenTable& EigenFor(IsaLevel level) {
  if (level >= IsaLevel::kV4) return EigenV4();
  if (level >= IsaLevel::kV3) return EigenV3();
  return EigenV2();
}

class EigenKernel final : public ProductKernel {
 public:
  EigenKernel(const EigenTable& eigen, DataType type) : eigen_(eigen), type_(type) {}

  size_t scratch_bytes() const override { return 0; }
  bool Multiply(const MatrixProduct& product, std::byte*) const override {
    if (type_ == DataType::kF32) {
      eigen_.gemm_f32(GemmCallOf<float>(product));
    } else {
      eigen_.gemm_f64(GemmCallOf<double>(product));
    }
    return true;
  }

 private:
  const EigenTable& eigen_;
  const DataType type_;
};

class EigenGemm final : public GemmSolver {
 public:
  EigenGemm(IsaLevel level, HostResources resources)
      : GemmSolver("host.eigen-gemm",
                   {.description = "Matrix product of Eigen on our threads",
                    .operator_name = "gemm",
                    .instant = true,
                    .ieee_special_values = true},
                   resources),
        level_(level) {}

 private:
  Status Accepts(const Gemm&) const override {
    if (level_ >= IsaLevel::kV2) return Status::Ok();
    return Unsupported(fmt::format("{} needs a processor of level {}, this one is {}.", Subject(),
                                   Name(IsaLevel::kV2), Name(level_)));
  }

  SpaceDescription Describe(const Gemm& gemm, const Target& target) const override {
    return DescribeDivision(target, UsefulSplits(gemm));
  }

  Result<std::unique_ptr<const ProductKernel>> MakeKernel(const Gemm& gemm,
                                                          const Config&) const override {
    return std::unique_ptr<const ProductKernel>(
        std::make_unique<EigenKernel>(EigenFor(level_), gemm.type));
  }

  const IsaLevel level_;
};

}  // namespace

std::unique_ptr<const Solver> MakeEigenGemm(IsaLevel level, HostResources resources) {
  return std::make_unique<EigenGemm>(level, resources);
}

LibraryReport ReportEigen(IsaLevel level) {
  if (level < IsaLevel::kV2) {
    return MissingLibrary("eigen",
                          fmt::format("It is compiled for {} and above, this processor is {}.",
                                      Name(IsaLevel::kV2), Name(level)));
  }
  const EigenTable& eigen = EigenFor(level);
  return FoundLibrary("eigen", eigen.version, fmt::format("{} {}", eigen.compiled_for, __VERSION__),
                      "compiled into this program");
}

#else

std::unique_ptr<const Solver> MakeEigenGemm(IsaLevel, HostResources) { return nullptr; }

LibraryReport ReportEigen(IsaLevel) {
  return MissingLibrary(
      "eigen",
      "This program was built without it. The Debian package libeigen3-dev brings "
      "it; build again when it is installed.");
}

#endif

}  // namespace attune::host
