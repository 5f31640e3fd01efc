#include "backends/cuda/cudnn_graph_conv.h"

#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/addresses.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cudnn_graph.h"
#include "backends/cuda/scratch.h"

namespace attune::cuda {
namespace {

class CudnnGraphExecutable final : public Executable {
 public:
  CudnnGraphExecutable(CudaDevice& device, CudnnGraph graph, CudnnPlan plan)
      : device_(device), graph_(std::move(graph)), plan_(std::move(plan)) {}

  size_t workspace_bytes() const override { return ScratchBytes(plan_.workspace_bytes); }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    return graph_.Run(plan_, AddressOf(operands[0]), AddressOf(operands[1]),
                      AddressOf(operands.back()), AddressOf(arguments.workspace));
  }

 private:
  CudaDevice& device_;
  const CudnnGraph graph_;
  const CudnnPlan plan_;
};

class CudnnGraphConv final : public Solver {
 public:
  explicit CudnnGraphConv(const Lazy<Cudnn>& cudnn) : cudnn_(cudnn) {
    traits_.description = "cuDNN's engines: its recommendations, all others, and their knobs";
    traits_.operator_name = "conv";
    traits_.listed_on_device = true;
    // Some engines compile for the shape when they are loaded.
    traits_.compiles_when_loaded = true;
    traits_.dynamic = false;
    traits_.deterministic = false;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    const auto* conv = std::get_if<Conv>(&problem);
    if (conv == nullptr) return Unsupported("cuDNN's engines convolve only.");
    if (target.backend != "cuda") {
      return Unsupported(fmt::format("cuDNN runs on CUDA devices, not on '{}'.", target.backend));
    }
    if (!cudnn_.Get().available()) return Unavailable(cudnn_.Get().report().missing);
    return CheckCudnnGraphTakes(*conv);
  }

  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }

  Result<std::vector<Config>> ListOn(Device& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
    ATTUNE_ASSIGN_OR_RETURN(const CudnnGraph graph, GraphOn(*cuda, problem));
    ATTUNE_ASSIGN_OR_RETURN(std::vector<Config> configs, graph.Recommendations());
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> others, graph.Enumeration());
    std::set<Config> known(configs.begin(), configs.end());
    for (const Config& other : others) {
      if (known.insert(other).second) configs.push_back(other);
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
    ATTUNE_ASSIGN_OR_RETURN(CudnnGraph graph, GraphOn(*cuda, problem));
    ATTUNE_ASSIGN_OR_RETURN(CudnnPlan plan,
                            config.empty() ? graph.FirstPlan() : graph.PlanOf(config));
    return std::unique_ptr<Executable>(
        std::make_unique<CudnnGraphExecutable>(*cuda, std::move(graph), std::move(plan)));
  }

 private:
  Result<CudnnGraph> GraphOn(CudaDevice& device, const Problem& problem) const {
    ATTUNE_RETURN_IF_ERROR(device.Enter());
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    return CudnnGraph::Create(cudnn_.Get(), handle, std::get<Conv>(problem));
  }

  const Lazy<Cudnn>& cudnn_;
  const SolverId id_ = {"cuda.cudnn-graph-conv", 1};
  SolverTraits traits_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnGraphConv(const Lazy<Cudnn>& cudnn) {
  return std::make_unique<CudnnGraphConv>(cudnn);
}

}  // namespace attune::cuda
