#include "backends/cuda/gemm/padded_gemm.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/gemm/composite_gemm.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/gemm/padded_layout.h"
#include "backends/cuda/layout/realign.h"

namespace attune::cuda {
namespace {

uint64_t AddressAt(const void* address) { return reinterpret_cast<uint64_t>(address); }

// From `from` at one address to `to` at another; the excess of `to` is filled with zeros.
ColumnCopy CopyOf(const StoredMatrix& from, const void* from_address, const StoredMatrix& to,
                  const void* to_address) {
  ColumnCopy copy;
  copy.from = AddressAt(from_address);
  copy.to = AddressAt(to_address);
  copy.from_stride = from.leading * from.element_bytes;
  copy.to_stride = to.leading * to.element_bytes;
  copy.from_matrix = from.stride * from.element_bytes;
  copy.to_matrix = to.stride * to.element_bytes;
  copy.to_bytes = to.rows * to.element_bytes;
  copy.bytes = std::min(from.rows * from.element_bytes, copy.to_bytes);
  copy.to_columns = to.columns;
  copy.columns = std::min(from.columns, to.columns);
  copy.matrices = to.matrices;
  return copy;
}

class PaddedExecutable final : public Executable {
 public:
  PaddedExecutable(CudaDevice& device, const Gemm& gemm, PaddedLayout layout, Realigner realigner,
                   ChosenProduct inner)
      : device_(device),
        gemm_(gemm),
        layout_(std::move(layout)),
        realigner_(std::move(realigner)),
        product_(std::move(inner.product)),
        algorithm_(inner.algorithm) {}

  size_t workspace_bytes() const override {
    return layout_.CopiesBytes() + ScratchBytes(algorithm_.workspaceSize);
  }

  // The same as cuBLASLt's solver.
  bool is_concurrent() const override { return gemm_.bias == Bias::kNone; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    const std::array<std::byte*, 3> given = {BytesAt(operands[0]), BytesAt(operands[1]),
                                             BytesAt(operands.back())};
    const std::array<std::byte*, 3> used = Places(given, BytesAt(arguments.workspace));
    const CUstream stream = device_.StreamOf(arguments);
    ATTUNE_RETURN_IF_ERROR(
        realigner_.Launch(CopyIn(kA, given, used), CopyIn(kB, given, used), stream));
    if (gemm_.beta != ScalarClass::kZero) {
      ATTUNE_RETURN_IF_ERROR(realigner_.Launch(CopyIn(kC, given, used), {}, stream));
    }
    const void* bias = gemm_.bias == Bias::kNone ? nullptr : BytesAt(operands[2]);
    ATTUNE_RETURN_IF_ERROR(product_.Run(
        algorithm_.algo, {.alpha = arguments.alpha,
                          .beta = arguments.beta,
                          .a = used[kA],
                          .b = used[kB],
                          .bias = bias,
                          .c = used[kC],
                          .workspace = BytesAt(arguments.workspace) + layout_.CopiesBytes(),
                          .workspace_bytes = algorithm_.workspaceSize,
                          .stream = stream}));
    if (!layout_.is_copied[kC]) return Status::Ok();
    return realigner_.Launch(
        CopyOf(StoredAs(layout_.inner, kC), used[kC], StoredAs(gemm_, kC), given[kC]), {}, stream);
  }

 private:
  // The address of each operand for the product: in the scratch memory, one after the other, if
  // copied.
  std::array<std::byte*, 3> Places(std::array<std::byte*, 3> places, std::byte* scratch) const {
    for (const GemmOperand which : {kA, kB, kC}) {
      if (!layout_.is_copied[which]) continue;
      places[which] = scratch;
      scratch += ScratchBytes(layout_.CopyBytes(which));
    }
    return places;
  }

  ColumnCopy CopyIn(GemmOperand which, const std::array<std::byte*, 3>& given,
                    const std::array<std::byte*, 3>& used) const {
    if (!layout_.is_copied[which]) return {};
    return CopyOf(StoredAs(gemm_, which), given[which], StoredAs(layout_.inner, which),
                  used[which]);
  }

  CudaDevice& device_;
  const Gemm gemm_;
  const PaddedLayout layout_;
  const Realigner realigner_;
  const CublasLtProduct product_;
  const cublasLtMatmulHeuristicResult_t algorithm_;
};

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuBLASLt on operands copied to where wide loads can read them";
  traits.operator_name = "gemm";
  traits.ieee_special_values = true;
  traits.checks_alignment = true;
  traits.compiles = true;
  // The traits of cuBLASLt's solver.
  traits.deterministic = false;
  return traits;
}

class PaddedGemm final : public CompositeGemm {
 public:
  explicit PaddedGemm(const Borrowed& libraries)
      : CompositeGemm({"cuda.padded-cublaslt-gemm", 1}, Traits(), "padding", libraries) {}

  bool KeepsSpecialValues(const Problem& problem) const override {
    return CublasLtKeepsSpecialValues(problem);
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config&,
                             const Target& target) const override {
    const Gemm& gemm = problem.Get<Gemm>();
    const size_t element_bytes = std::min(SizeBytes(gemm.type), SizeBytes(gemm.c_type));
    return RealignRecipe(nvrtc(), static_cast<int>(element_bytes), target.arch);
  }

 private:
  Result<std::vector<ParameterValue>> Ways(const Gemm& gemm) const override {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> paddings, PossiblePaddings(gemm));
    return std::vector<ParameterValue>(paddings.begin(), paddings.end());
  }

  Result<Gemm> InnerProduct(const Gemm& gemm, const ParameterValue& way) const override {
    ATTUNE_ASSIGN_OR_RETURN(const PaddedLayout layout, LayOut(gemm, std::get<std::string>(way)));
    return layout.inner;
  }

  Result<std::unique_ptr<Executable>> LoadWay(CudaDevice& device, const Artifact& artifact,
                                              const Gemm& gemm, const ParameterValue& way,
                                              ChosenProduct inner) const override {
    ATTUNE_ASSIGN_OR_RETURN(PaddedLayout layout, LayOut(gemm, std::get<std::string>(way)));
    ATTUNE_ASSIGN_OR_RETURN(Realigner realigner, Realigner::Load(device, artifact));
    return std::unique_ptr<Executable>(std::make_unique<PaddedExecutable>(
        device, gemm, std::move(layout), std::move(realigner), std::move(inner)));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakePaddedGemm(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<PaddedGemm>(CompositeGemm::Borrowed{lt, nvrtc});
}

}  // namespace attune::cuda
