#include "backends/cuda/conv/cudnn_conv.h"

#include <string>
#include <utility>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/solver/layer_library.h"
#include "backends/cuda/conv/cudnn_product.h"
#include "backends/cuda/cudnn/cudnn_executable.h"
#include "backends/cuda/cudnn/cudnn_layer.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/library_solver.h"

namespace attune::cuda {
namespace {

constexpr std::string_view kFirst = "first";
constexpr std::string_view kLosesSums = "algo_1";

Result<CudnnProduct> ProductOn(const Lazy<Cudnn>& cudnn, CudaDevice& device, const Conv& conv,
                               std::string_view math) {
  ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn.Get().HandleOf(device.stream()));
  return CudnnProduct::Create(cudnn.Get(), handle, conv, math);
}

Parameter MathOf(const Problem& problem) {
  Parameter math{"math", {}};
  for (std::string& name : CudnnMathNames(problem.Get<Conv>())) {
    math.values.emplace_back(std::move(name));
  }
  return math;
}

// Not instant: the library needs 2 to 5 ms to find its first answer for each new shape.
SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuDNN's legacy algorithms, on tensor cores or without";
  traits.operator_name = "conv";
  // Backward algorithms 0 and 3 add in the order in which blocks end.
  traits.deterministic = false;
  return traits;
}

class CudnnConv final : public LibrarySolver, public LayerLibrary {
 public:
  explicit CudnnConv(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-conv", 1}, Traits()), cudnn_(cudnn) {}

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    // The library's first choice must be worth being the default.
    const bool loses_sums = LosesSums(problem.Get<Conv>());
    return ConfigSpace::Create(
        {{"algorithm", {std::string(loses_sums ? "algo_0" : kFirst)}}, MathOf(problem)}, {});
  }

  Result<std::unique_ptr<Executable>> LoadLayer(const NetworkLayer& layer,
                                                Device& device) const override {
    return LoadingOn(device, [&](CudaDevice& cuda) -> Result<std::unique_ptr<Executable>> {
      ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(cuda.stream()));
      ATTUNE_ASSIGN_OR_RETURN(CudnnLayer made, CudnnLayer::Create(cudnn_.Get(), handle, layer));
      return MakeCudnnExecutable(cuda, std::move(made));
    });
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {cudnn_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    const Conv& conv = problem.Get<Conv>();
    ATTUNE_RETURN_IF_ERROR(CheckCudnnTakes(conv));
    return conv.deterministic ? CheckKeepsSums(conv) : Status::Ok();
  }

  // Which algorithms compute a convolution depends on all of it, and on the device.
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    const Conv& conv = problem.Get<Conv>();
    std::vector<Config> configs;
    for (const std::string& math : CudnnMathNames(conv)) {
      ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct product, ProductOn(cudnn_, device, conv, math));
      for (const std::string& name : CudnnAlgorithmNames(conv.direction, conv.deterministic)) {
        if (LosesSums(conv) && name == kLosesSums) continue;
        if (!product.Named(name).ok()) continue;
        configs.push_back({{"algorithm", name}, {"math", math}});
      }
    }
    return configs;
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudnnProduct product, ProductOn(cudnn_, device, problem.Get<Conv>(),
                                                            StringAt(config, "math")));
    const std::string& name = StringAt(config, "algorithm");
    ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm,
                            name == kFirst ? product.FirstAnswer() : product.Named(name));
    return MakeCudnnExecutable(device, std::move(product), algorithm);
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnConv>(cudnn);
}

}  // namespace attune::cuda
