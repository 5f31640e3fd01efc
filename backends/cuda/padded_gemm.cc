#include "backends/cuda/padded_gemm.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/cuda/addresses.h"
#include "backends/cuda/cublaslt_listing.h"
#include "backends/cuda/cublaslt_product.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/in_turns.h"
#include "backends/cuda/library_solver.h"
#include "backends/cuda/padded_layout.h"
#include "backends/cuda/realign.h"
#include "backends/cuda/scratch.h"

namespace attune::cuda {
namespace {

constexpr const char* kPadding = "padding";

uint64_t AddressAt(const void* address) { return reinterpret_cast<uint64_t>(address); }

// From `from` at one address to `to` at another; what `to` has more of is filled with zeros.
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
    return CopiesBytes() + ScratchBytes(algorithm_.workspaceSize);
  }

  // As cuBLASLt's own.
  bool is_concurrent() const override { return gemm_.bias == Bias::kNone; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    const std::array<std::byte*, 3> given = {At(operands[0]), At(operands[1]), At(operands.back())};
    const std::array<std::byte*, 3> used = Places(given, At(arguments.workspace));
    const CUstream stream = device_.StreamOf(arguments);
    ATTUNE_RETURN_IF_ERROR(
        realigner_.Launch(CopyIn(kA, given, used), CopyIn(kB, given, used), stream));
    if (gemm_.beta != ScalarClass::kZero) {
      ATTUNE_RETURN_IF_ERROR(realigner_.Launch(CopyIn(kC, given, used), {}, stream));
    }
    const void* bias = gemm_.bias == Bias::kNone ? nullptr : At(operands[2]);
    ATTUNE_RETURN_IF_ERROR(
        product_.Run(algorithm_.algo, {.alpha = arguments.alpha,
                                       .beta = arguments.beta,
                                       .a = used[kA],
                                       .b = used[kB],
                                       .bias = bias,
                                       .c = used[kC],
                                       .workspace = At(arguments.workspace) + CopiesBytes(),
                                       .workspace_bytes = algorithm_.workspaceSize,
                                       .stream = stream}));
    if (!layout_.is_copied[kC]) return Status::Ok();
    return realigner_.Launch(
        CopyOf(StoredAs(layout_.inner, kC), used[kC], StoredAs(gemm_, kC), given[kC]), {}, stream);
  }

 private:
  static std::byte* At(BufferView view) { return static_cast<std::byte*>(AddressOf(view)); }

  size_t CopiesBytes() const {
    size_t sum_bytes = 0;
    for (const GemmOperand which : {kA, kB, kC})
      sum_bytes += ScratchBytes(layout_.CopyBytes(which));
    return sum_bytes;
  }

  // Where the product finds each operand: in the scratch memory, one behind the other, if copied.
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
  traits.compiles = true;
  // As cuBLASLt's own.
  traits.deterministic = false;
  return traits;
}

class PaddedGemm final : public LibrarySolver {
 public:
  PaddedGemm(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc)
      : LibrarySolver({"cuda.padded-cublaslt-gemm", 1}, Traits()), lt_(lt), nvrtc_(nvrtc) {}

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    Parameter padding{kPadding, {}};
    for (std::string& name : PaddingNames(std::get<Gemm>(problem))) {
      padding.values.emplace_back(std::move(name));
    }
    return ConfigSpace::Create({std::move(padding)}, {});
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config&,
                             const Target& target) const override {
    const Gemm& gemm = std::get<Gemm>(problem);
    const size_t element_bytes = std::min(SizeBytes(gemm.type), SizeBytes(gemm.c_type));
    return RealignRecipe(nvrtc_.Get(), static_cast<int>(element_bytes), target.arch);
  }
  Result<Artifact> Build(const BuildRecipe& recipe) const override {
    return BuildCubin(nvrtc_.Get(), recipe);
  }

 private:
  std::vector<LibraryReport> Libraries() const override {
    return {lt_.Get().report(), nvrtc_.Get().report};
  }

  Status CheckTakes(const Problem& problem) const override {
    const Gemm& gemm = std::get<Gemm>(problem);
    const std::vector<std::string> paddings = PaddingNames(gemm);
    if (paddings.empty()) {
      return Unsupported("Every column starts at a multiple of 16 bytes already.");
    }
    ATTUNE_ASSIGN_OR_RETURN(const PaddedLayout layout, LayOut(gemm, paddings.front()));
    return CheckCublasLtTakes(layout.inner);
  }

  // The algorithms of every way to pad, in turns, so that the library's guesses for each come
  // first.
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    const Gemm& gemm = std::get<Gemm>(problem);
    std::vector<std::vector<Config>> lists;
    for (const std::string& padding : PaddingNames(gemm)) {
      ATTUNE_ASSIGN_OR_RETURN(const PaddedLayout layout, LayOut(gemm, padding));
      ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product,
                              CublasLtProduct::On(lt_.Get(), device.context(), layout.inner));
      ATTUNE_ASSIGN_OR_RETURN(std::vector<Config> configs, ListAlgorithms(lt_.Get(), product));
      for (Config& config : configs) config[kPadding] = padding;
      lists.push_back(std::move(configs));
    }
    return InTurns(std::move(lists));
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    const Gemm& gemm = std::get<Gemm>(problem);
    ATTUNE_ASSIGN_OR_RETURN(PaddedLayout layout, LayOut(gemm, StringAt(config, kPadding)));
    Config fields = config;
    fields.erase(kPadding);
    ATTUNE_ASSIGN_OR_RETURN(ChosenProduct inner,
                            ChooseProduct(lt_.Get(), device.context(), layout.inner, fields));
    ATTUNE_ASSIGN_OR_RETURN(Realigner realigner, Realigner::Load(device, artifact));
    return std::unique_ptr<Executable>(std::make_unique<PaddedExecutable>(
        device, gemm, std::move(layout), std::move(realigner), std::move(inner)));
  }

  const Lazy<CublasLt>& lt_;
  const Lazy<Nvrtc>& nvrtc_;
};

}  // namespace

std::unique_ptr<const Solver> MakePaddedGemm(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<PaddedGemm>(lt, nvrtc);
}

}  // namespace attune::cuda
