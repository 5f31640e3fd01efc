#include "backends/cuda/cudnn_conv.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/addresses.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cudnn_product.h"
#include "backends/cuda/scratch.h"

namespace attune::cuda {
namespace {

constexpr std::string_view kFirst = "first";

class CudnnExecutable final : public Executable {
 public:
  CudnnExecutable(CudaDevice& device, CudnnProduct product, CudnnProduct::Algorithm algorithm)
      : device_(device), product_(std::move(product)), algorithm_(algorithm) {}

  size_t workspace_bytes() const override { return ScratchBytes(algorithm_.workspace_bytes); }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    return product_.Run(algorithm_, AddressOf(operands[0]), AddressOf(operands[1]),
                        AddressOf(operands.back()), AddressOf(arguments.workspace),
                        algorithm_.workspace_bytes);
  }

 private:
  CudaDevice& device_;
  const CudnnProduct product_;
  const CudnnProduct::Algorithm algorithm_;
};

class CudnnConv final : public Solver {
 public:
  explicit CudnnConv(const Lazy<Cudnn>& cudnn) : cudnn_(cudnn) {
    traits_.description = "cuDNN's legacy algorithms, on tensor cores or without";
    traits_.operator_name = "conv";
    traits_.instant = true;
    traits_.listed_on_device = true;
    // Backward algorithms 0 and 3 add in the order in which blocks end.
    traits_.deterministic = false;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    const auto* conv = std::get_if<Conv>(&problem);
    if (conv == nullptr) return Unsupported("cuDNN's legacy calls convolve only.");
    if (target.backend != "cuda") {
      return Unsupported(fmt::format("cuDNN runs on CUDA devices, not on '{}'.", target.backend));
    }
    if (!cudnn_.Get().available()) return Unavailable(cudnn_.Get().report().missing);
    return CheckCudnnTakes(*conv);
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    Parameter math{"math", {}};
    for (std::string& name : CudnnMathNames(std::get<Conv>(problem))) {
      math.values.emplace_back(std::move(name));
    }
    return ConfigSpace::Create({{"algorithm", {std::string(kFirst)}}, std::move(math)}, {});
  }

  // Which algorithms compute a convolution depends on all of it, and on the device.
  Result<std::vector<Config>> ListOn(Device& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
    const Conv& conv = std::get<Conv>(problem);
    std::vector<Config> configs;
    for (const std::string& math : CudnnMathNames(conv)) {
      ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct product, ProductOn(*cuda, conv, math));
      for (const std::string& name : CudnnAlgorithmNames(conv.direction, conv.deterministic)) {
        if (!product.Named(name).ok()) continue;
        configs.push_back({{"algorithm", name}, {"math", math}});
      }
    }
    return configs;
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device& device) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
    ATTUNE_ASSIGN_OR_RETURN(CudnnProduct product,
                            ProductOn(*cuda, std::get<Conv>(problem), StringAt(config, "math")));
    const std::string& name = StringAt(config, "algorithm");
    ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm,
                            name == kFirst ? product.FirstAnswer() : product.Named(name));
    return std::unique_ptr<Executable>(
        std::make_unique<CudnnExecutable>(*cuda, std::move(product), algorithm));
  }

 private:
  Result<CudnnProduct> ProductOn(CudaDevice& device, const Conv& conv,
                                 std::string_view math) const {
    ATTUNE_RETURN_IF_ERROR(device.Enter());
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    return CudnnProduct::Create(cudnn_.Get(), handle, conv, math);
  }

  const Lazy<Cudnn>& cudnn_;
  const SolverId id_ = {"cuda.cudnn-conv", 1};
  SolverTraits traits_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnConv>(cudnn);
}

}  // namespace attune::cuda
