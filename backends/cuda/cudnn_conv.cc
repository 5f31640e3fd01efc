#include "backends/cuda/cudnn_conv.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cudnn_product.h"
#include "backends/cuda/library_solver.h"
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
    return product_.Run(algorithm_, CallOf(arguments, device_));
  }

 private:
  CudaDevice& device_;
  const CudnnProduct product_;
  const CudnnProduct::Algorithm algorithm_;
};

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuDNN's legacy algorithms, on tensor cores or without";
  traits.operator_name = "conv";
  traits.instant = true;
  // Backward algorithms 0 and 3 add in the order in which blocks end.
  traits.deterministic = false;
  return traits;
}

class CudnnConv final : public LibrarySolver {
 public:
  explicit CudnnConv(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-conv", 1}, Traits()), cudnn_(cudnn) {}

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    Parameter math{"math", {}};
    for (std::string& name : CudnnMathNames(std::get<Conv>(problem))) {
      math.values.emplace_back(std::move(name));
    }
    return ConfigSpace::Create({{"algorithm", {std::string(kFirst)}}, std::move(math)}, {});
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {cudnn_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    return CheckCudnnTakes(std::get<Conv>(problem));
  }

  // Which algorithms compute a convolution depends on all of it, and on the device.
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    const Conv& conv = std::get<Conv>(problem);
    std::vector<Config> configs;
    for (const std::string& math : CudnnMathNames(conv)) {
      ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct product, ProductOn(device, conv, math));
      for (const std::string& name : CudnnAlgorithmNames(conv.direction, conv.deterministic)) {
        if (!product.Named(name).ok()) continue;
        configs.push_back({{"algorithm", name}, {"math", math}});
      }
    }
    return configs;
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudnnProduct product,
                            ProductOn(device, std::get<Conv>(problem), StringAt(config, "math")));
    const std::string& name = StringAt(config, "algorithm");
    ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm,
                            name == kFirst ? product.FirstAnswer() : product.Named(name));
    return std::unique_ptr<Executable>(
        std::make_unique<CudnnExecutable>(device, std::move(product), algorithm));
  }

  Result<CudnnProduct> ProductOn(CudaDevice& device, const Conv& conv,
                                 std::string_view math) const {
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    return CudnnProduct::Create(cudnn_.Get(), handle, conv, math);
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnConv>(cudnn);
}

}  // namespace attune::cuda
