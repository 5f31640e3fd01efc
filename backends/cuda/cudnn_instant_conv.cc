#include "backends/cuda/cudnn_instant_conv.h"

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cudnn_executable.h"
#include "backends/cuda/cudnn_graph.h"
#include "backends/cuda/cudnn_product.h"
#include "backends/cuda/library_solver.h"

namespace attune::cuda {
namespace {

// The algorithms that take any shape, and for which nothing has to be found out.
std::string_view ImplicitAlgorithm(ConvDirection direction) {
  return direction == ConvDirection::kForward ? "implicit_gemm" : "algo_1";
}

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuDNN's quickest engine to make: what serves a shape never seen";
  traits.operator_name = "conv";
  traits.instant = true;
  // Of some engines; those of a problem that is to be deterministic are.
  traits.deterministic = false;
  return traits;
}

class CudnnInstantConv final : public LibrarySolver {
 public:
  explicit CudnnInstantConv(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-instant-conv", 1}, Traits()), cudnn_(cudnn) {}

 private:
  std::vector<LibraryReport> Libraries() const override { return {cudnn_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    return CheckCudnnTakes(std::get<Conv>(problem));
  }

  // Other engines are cuda.cudnn-graph-conv's.
  Result<std::vector<Config>> List(CudaDevice&, const Problem&) const override {
    return std::vector<Config>();
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem, const Config&) const override {
    const Conv& conv = std::get<Conv>(problem);
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    ATTUNE_ASSIGN_OR_RETURN(CudnnGraph graph, CudnnGraph::Create(cudnn_.Get(), handle, conv));
    Result<CudnnPlan> plan = graph.QuickPlan();
    if (plan.ok()) return MakeCudnnExecutable(device, std::move(graph), *std::move(plan));
    ATTUNE_ASSIGN_OR_RETURN(
        CudnnProduct product,
        CudnnProduct::Create(cudnn_.Get(), handle, conv, CudnnMathNames(conv).front()));
    ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm,
                            product.Named(ImplicitAlgorithm(conv.direction)));
    return MakeCudnnExecutable(device, std::move(product), algorithm);
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnInstantConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnInstantConv>(cudnn);
}

}  // namespace attune::cuda
