#include "backends/cuda/conv/cudnn_instant_conv.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/cudnn_conv_graph.h"
#include "backends/cuda/conv/cudnn_product.h"
#include "backends/cuda/conv/cudnn_quick_engines.h"
#include "backends/cuda/conv/layer_memory.h"
#include "backends/cuda/cudnn/cudnn_executable.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/library_solver.h"

namespace attune::cuda {
namespace {

// The algorithms that take any shape without a query.
std::string_view ImplicitAlgorithm(const Conv& conv) {
  if (LosesSums(conv)) return "algo_0";
  return conv.direction == ConvDirection::kForward ? "implicit_gemm" : "algo_1";
}

// The quickest algorithm for depthwise convolutions, without asking the library. No engine that
// compiles nothing is quicker; the library takes 20 ms to answer, with this algorithm or one that
// fails.
std::string_view DepthwiseAlgorithm(const Conv& conv) {
  return conv.direction == ConvDirection::kForward ? "implicit_precomp_gemm"
                                                   : ImplicitAlgorithm(conv);
}

SolverTraits Traits(std::string_view description, bool is_deterministic) {
  SolverTraits traits;
  traits.description = description;
  traits.operator_name = "conv";
  traits.instant = true;
  traits.deterministic = is_deterministic;
  return traits;
}

// Limit of the workspace of first calls: with depth cuDNN copies the operands into another layout.
size_t MostBytes(const Conv& conv) {
  size_t operand_bytes = 0;
  for (const Operand& operand : Operands(Problem(conv))) operand_bytes += SpanBytes(operand.tensor);
  return std::max(kMostQuickBytes, 2 * operand_bytes);
}

Result<std::unique_ptr<Executable>> LoadNamed(const Cudnn& cudnn, CudaDevice& device,
                                              const Conv& conv, std::string_view name) {
  ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn.HandleOf(device.stream()));
  ATTUNE_ASSIGN_OR_RETURN(CudnnProduct product,
                          CudnnProduct::Create(cudnn, handle, conv, CudnnMathNames(conv).front()));
  ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm, product.Named(name));
  return MakeCudnnExecutable(device, std::move(product), algorithm);
}

// Engines are other solvers' to list: these have one config.
class CudnnInstantSolver : public LibrarySolver {
 protected:
  CudnnInstantSolver(const Lazy<Cudnn>& cudnn, SolverId id, SolverTraits traits)
      : LibrarySolver(std::move(id), std::move(traits)), cudnn_(cudnn) {}

  const Lazy<Cudnn>& cudnn_;

 private:
  std::vector<LibraryReport> Libraries() const override { return {cudnn_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    const Conv& conv = problem.Get<Conv>();
    ATTUNE_RETURN_IF_ERROR(CheckCudnnTakes(conv));
    return conv.deterministic || traits().deterministic ? CheckKeepsSums(conv) : Status::Ok();
  }

  Result<std::vector<Config>> List(CudaDevice&, const Problem&) const override {
    return std::vector<Config>();
  }
};

class CudnnInstantConv final : public CudnnInstantSolver {
 public:
  // Some engines add in changing order; those of a deterministic problem do not.
  explicit CudnnInstantConv(const Lazy<Cudnn>& cudnn)
      : CudnnInstantSolver(
            cudnn, {"cuda.cudnn-instant-conv", 1},
            Traits("cuDNN's quickest engine to make: what serves a shape never seen", false)) {}

 private:
  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem, const Config&) const override {
    const Conv& conv = problem.Get<Conv>();
    if (IsDepthwise(conv)) {
      auto named = LoadNamed(cudnn_.Get(), device, conv, DepthwiseAlgorithm(conv));
      if (named.ok()) return named;
    }
    // With depth, the engines that compile nothing take 8 to 15 times as long.
    const bool is_deep = conv.spatial_rank == 3;
    auto first = is_deep ? LoadAnswered(device, conv) : LoadQuick(device, conv);
    if (first.ok()) return first;
    auto second = is_deep ? LoadQuick(device, conv) : LoadAnswered(device, conv);
    return second.ok() ? std::move(second)
                       : LoadNamed(cudnn_.Get(), device, conv, ImplicitAlgorithm(conv));
  }

  Result<std::unique_ptr<Executable>> LoadQuick(CudaDevice& device, const Conv& conv) const {
    const Cudnn& cudnn = cudnn_.Get();
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn.HandleOf(device.stream()));
    ATTUNE_ASSIGN_OR_RETURN(CudnnGraph graph, MakeCudnnConvGraph(cudnn, handle, conv));
    const auto recommend = [&](const Conv& typical) {
      const Result<CudnnGraph> its_graph = MakeCudnnConvGraph(cudnn, handle, typical);
      return its_graph.ok() ? its_graph->QuickRecommendations() : std::vector<CudnnEngineChoice>();
    };
    const std::vector<CudnnEngineChoice> choices =
        engines_.For(conv, cudnn.report().version, recommend);
    ATTUNE_ASSIGN_OR_RETURN(CudnnQuickPlan quick, graph.QuickPlan(choices));
    engines_.NoteTaken(conv, choices, quick.choice);
    return MakeCudnnExecutable(device, std::move(graph), std::move(quick.plan));
  }

  // The legacy algorithm that the library answers first for the typical image of the layer. None
  // for kinds with measured engines. None for gradients of weights: there the library answers with
  // algorithms that round parts of long sums.
  Result<std::unique_ptr<Executable>> LoadAnswered(CudaDevice& device, const Conv& conv) const {
    if (IsMeasuredKind(conv) || conv.direction == ConvDirection::kBackwardWeights) {
      return Unsupported("The library is not asked about convolutions like it.");
    }
    const Cudnn& cudnn = cudnn_.Get();
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn.HandleOf(device.stream()));
    const std::string math = CudnnMathNames(conv).front();
    std::optional<CudnnProduct::Algorithm> answer = answers_.Find(conv);
    if (!answer.has_value()) {
      ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct typical,
                              CudnnProduct::Create(cudnn, handle, TypicalOf(conv), math));
      ATTUNE_ASSIGN_OR_RETURN(answer, typical.FirstAnswer());
      answers_.Put(conv, *answer);
    }
    ATTUNE_ASSIGN_OR_RETURN(CudnnProduct product, CudnnProduct::Create(cudnn, handle, conv, math));
    ATTUNE_ASSIGN_OR_RETURN(const CudnnProduct::Algorithm algorithm, product.SameAs(*answer));
    if (algorithm.workspace_bytes > MostBytes(conv)) return Unsupported("It needs much memory.");
    return MakeCudnnExecutable(device, std::move(product), algorithm);
  }

  const CudnnQuickEngines engines_;
  mutable LayerMemory<CudnnProduct::Algorithm> answers_;
};

class CudnnImplicitConv final : public CudnnInstantSolver {
 public:
  explicit CudnnImplicitConv(const Lazy<Cudnn>& cudnn)
      : CudnnInstantSolver(
            cudnn, {"cuda.cudnn-implicit-conv", 2},
            Traits("cuDNN's implicit products: what serves where memory is short", true)) {}

 private:
  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem, const Config&) const override {
    const Conv& conv = problem.Get<Conv>();
    return LoadNamed(cudnn_.Get(), device, conv, ImplicitAlgorithm(conv));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnInstantConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnInstantConv>(cudnn);
}

std::unique_ptr<const Solver> MakeCudnnImplicitConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnImplicitConv>(cudnn);
}

}  // namespace attune::cuda
