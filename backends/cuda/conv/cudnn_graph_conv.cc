#include "backends/cuda/conv/cudnn_graph_conv.h"

#include <string_view>
#include <utility>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/solver/state_keeper.h"
#include "backends/cuda/conv/cudnn_conv_graph.h"
#include "backends/cuda/conv/cudnn_words.h"
#include "backends/cuda/cudnn/cudnn_executable.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/library_solver.h"

namespace attune::cuda {
namespace {

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuDNN's engines: its recommendations, all others, and their knobs";
  traits.operator_name = "conv";
  traits.checks_alignment = true;
  // Some engines compile for the shape when they are loaded.
  traits.compiles_when_loaded = true;
  traits.dynamic = false;
  traits.deterministic = false;
  return traits;
}

class CudnnGraphConv final : public LibrarySolver, public StateKeeper {
 public:
  explicit CudnnGraphConv(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-graph-conv", 1}, Traits()), cudnn_(cudnn) {}

  bool ServesUntried(const Config& config) const override { return ServesUntriedOfCudnn(config); }

  BuildRecipe StateKey(const Problem& problem, const Config& config,
                       const Target& target) const override {
    return PlanKey(cudnn_.Get().report(), problem, {id(), config}, target);
  }

  Result<LoadedWithState> LoadWith(std::string_view state, const BuiltCandidate& built,
                                   Device& device) const override {
    return LoadingOn(device, [&](CudaDevice& cuda) {
      return LoadPlan(cuda, built.problem, built.config, state);
    });
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {cudnn_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    return CheckCudnnConvolves(problem.Get<Conv>());
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const CudnnGraph graph, GraphOn(device, problem));
    return graph.AllConfigs();
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(LoadedWithState loaded, LoadPlan(device, problem, config, {}));
    return std::move(loaded.executable);
  }

  Result<LoadedWithState> LoadPlan(CudaDevice& device, const Problem& problem, const Config& config,
                                   std::string_view json) const {
    ATTUNE_ASSIGN_OR_RETURN(CudnnGraph graph, GraphOn(device, problem));
    ATTUNE_ASSIGN_OR_RETURN(CudnnKeptPlan kept, graph.PlanWith(json, config));
    LoadedWithState loaded;
    loaded.executable = MakeCudnnExecutable(device, std::move(graph), std::move(kept.plan));
    loaded.is_out_of_state = kept.is_read;
    loaded.state = std::move(kept.json);
    return loaded;
  }

  Result<CudnnGraph> GraphOn(CudaDevice& device, const Problem& problem) const {
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    return MakeCudnnConvGraph(cudnn_.Get(), handle, problem.Get<Conv>());
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnGraphConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnGraphConv>(cudnn);
}

}  // namespace attune::cuda
