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

Result<CudnnProduct> ProductOn(const Lazy<Cudnn>& cudnn, CudaDevice& device, const Conv& conv,
                               std::string_view math) {
  ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn.Get().HandleOf(device.stream()));
  return CudnnProduct::Create(cudnn.Get(), handle, conv, math);
}

Parameter MathOf(const Problem& problem) {
  Parameter math{"math", {}};
  for (std::string& name : CudnnMathNames(std::get<Conv>(problem))) {
    math.values.emplace_back(std::move(name));
  }
  return math;
}

// Not instant: what the library answers first takes it 2 to 5 ms to find out, for every shape anew.
SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuDNN's legacy algorithms, on tensor cores or without";
  traits.operator_name = "conv";
  // Backward algorithms 0 and 3 add in the order in which blocks end.
  traits.deterministic = false;
  return traits;
}

class CudnnConv final : public LibrarySolver {
 public:
  explicit CudnnConv(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-conv", 1}, Traits()), cudnn_(cudnn) {}

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    return ConfigSpace::Create({{"algorithm", {std::string(kFirst)}}, MathOf(problem)}, {});
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
      ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct product, ProductOn(cudnn_, device, conv, math));
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
    ATTUNE_ASSIGN_OR_RETURN(CudnnProduct product, ProductOn(cudnn_, device, std::get<Conv>(problem),
                                                            StringAt(config, "math")));
    const std::string& name = StringAt(config, "algorithm");
    ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm,
                            name == kFirst ? product.FirstAnswer() : product.Named(name));
    return std::unique_ptr<Executable>(
        std::make_unique<CudnnExecutable>(device, std::move(product), algorithm));
  }

  const Lazy<Cudnn>& cudnn_;
};

// The algorithms that take any shape, and for which nothing has to be found out.
std::string_view ImplicitAlgorithm(ConvDirection direction) {
  return direction == ConvDirection::kForward ? "implicit_gemm" : "algo_1";
}

SolverTraits ImplicitTraits() {
  SolverTraits traits;
  traits.description = "cuDNN's implicit products: what serves a shape never seen";
  traits.operator_name = "conv";
  traits.instant = true;
  return traits;
}

class CudnnImplicitConv final : public LibrarySolver {
 public:
  explicit CudnnImplicitConv(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-implicit-conv", 1}, ImplicitTraits()), cudnn_(cudnn) {}

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    return ConfigSpace::Create({MathOf(problem)}, {});
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {cudnn_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    return CheckCudnnTakes(std::get<Conv>(problem));
  }

  // Its space has everything.
  Result<std::vector<Config>> List(CudaDevice&, const Problem&) const override {
    return std::vector<Config>();
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    const Conv& conv = std::get<Conv>(problem);
    ATTUNE_ASSIGN_OR_RETURN(CudnnProduct product,
                            ProductOn(cudnn_, device, conv, StringAt(config, "math")));
    ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm,
                            product.Named(ImplicitAlgorithm(conv.direction)));
    return std::unique_ptr<Executable>(
        std::make_unique<CudnnExecutable>(device, std::move(product), algorithm));
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnConv>(cudnn);
}

std::unique_ptr<const Solver> MakeCudnnImplicitConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnImplicitConv>(cudnn);
}

}  // namespace attune::cuda
