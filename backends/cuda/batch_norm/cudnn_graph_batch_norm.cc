#include "backends/cuda/batch_norm/cudnn_graph_batch_norm.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/solver/state_keeper.h"
#include "backends/cuda/batch_norm/cudnn_batch_norm_executable.h"
#include "backends/cuda/batch_norm/cudnn_batch_norm_graph.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/library_solver.h"

namespace attune::cuda {
namespace {

SolverTraits GraphNormTraits() {
  SolverTraits traits;
  traits.description = "cuDNN's graphs of batch norms: recommended engines, all others, and knobs";
  traits.operator_name = "batch_norm";
  traits.checks_alignment = true;
  // Engines of norms compile for the shape when they are loaded.
  traits.compiles_when_loaded = true;
  traits.dynamic = false;
  traits.deterministic = false;
  return traits;
}

// A graph with a plan. Immutable; used by one thread at a time.
class PlannedBatchNorm {
 public:
  PlannedBatchNorm(CudnnBatchNormGraph graph, CudnnPlan plan)
      : graph_(std::move(graph)), plan_(std::move(plan)) {}

  const Cudnn& library() const { return graph_.graph().library(); }
  size_t workspace_bytes() const { return graph_.WorkspaceBytes(plan_); }
  Status Run(const Arguments& arguments, CUstream stream) const {
    return graph_.Run(plan_, arguments, stream);
  }

 private:
  const CudnnBatchNormGraph graph_;
  const CudnnPlan plan_;
};

class CudnnGraphBatchNorm final : public LibrarySolver, public StateKeeper {
 public:
  explicit CudnnGraphBatchNorm(const Lazy<Cudnn>& cudnn)
      : LibrarySolver({"cuda.cudnn-graph-batch-norm", 1}, GraphNormTraits()), cudnn_(cudnn) {}

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
    return CheckCudnnNormGraph(problem.Get<BatchNorm>());
  }

  // Nothing where the library does not take the graph.
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    const Result<CudnnBatchNormGraph> graph = GraphOn(device, problem);
    if (graph.status().code() == StatusCode::kUnsupported) return std::vector<Config>();
    if (!graph.ok()) return graph.error();
    return graph->graph().AllConfigs();
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(LoadedWithState loaded, LoadPlan(device, problem, config, {}));
    return std::move(loaded.executable);
  }

  Result<LoadedWithState> LoadPlan(CudaDevice& device, const Problem& problem, const Config& config,
                                   std::string_view json) const {
    ATTUNE_ASSIGN_OR_RETURN(CudnnBatchNormGraph graph, GraphOn(device, problem));
    ATTUNE_ASSIGN_OR_RETURN(CudnnKeptPlan kept, graph.graph().PlanWith(json, config));
    LoadedWithState loaded;
    loaded.executable = MakeCudnnBatchNormExecutable(
        device, std::make_unique<const PlannedBatchNorm>(std::move(graph), std::move(kept.plan)));
    loaded.is_out_of_state = kept.is_read;
    loaded.state = std::move(kept.json);
    return loaded;
  }

  Result<CudnnBatchNormGraph> GraphOn(CudaDevice& device, const Problem& problem) const {
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    return CudnnBatchNormGraph::Create(cudnn_.Get(), handle, problem.Get<BatchNorm>());
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnGraphBatchNorm(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnGraphBatchNorm>(cudnn);
}

}  // namespace attune::cuda
