#include "backends/cuda/cudnn_layout_conv.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/addresses.h"
#include "backends/cuda/conv_relayout.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cudnn_graph.h"
#include "backends/cuda/cudnn_words.h"
#include "backends/cuda/in_turns.h"
#include "backends/cuda/layout_solver.h"
#include "backends/cuda/scratch.h"
#include "backends/cuda/tensor_layout.h"

namespace attune::cuda {
namespace {

constexpr const char* kLayout = "layout";
constexpr size_t kInputs = 2;  // The output is behind them.

// The convolution that the library computes, and by which of its engines.
struct InnerConv {
  CudnnGraph graph;
  CudnnPlan plan;
};

class CudnnLayoutExecutable final : public Executable {
 public:
  CudnnLayoutExecutable(CudaDevice& device, ConvRelayout relayout, TensorLayout layout,
                        InnerConv inner)
      : device_(device),
        relayout_(std::move(relayout)),
        layout_(std::move(layout)),
        inner_(std::move(inner)) {}

  size_t workspace_bytes() const override {
    return relayout_.CopiesBytes() + ScratchBytes(inner_.plan.workspace_bytes);
  }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const CUstream stream = device_.StreamOf(arguments);
    std::byte* scratch = static_cast<std::byte*>(AddressOf(arguments.workspace));
    std::array<void*, 3> given = {};
    std::array<void*, 3> used = {};
    for (size_t i = 0; i < given.size(); ++i) {
      given[i] = used[i] = AddressOf(arguments.operands[i]);
      if (!relayout_.is_copied[i]) continue;
      used[i] = scratch;
      scratch += ScratchBytes(relayout_.bytes[i]);
      if (i == kInputs) continue;
      ATTUNE_RETURN_IF_ERROR(Copy(relayout_.into[i], given[i], used[i], stream));
    }
    ATTUNE_RETURN_IF_ERROR(
        inner_.graph.Run(inner_.plan, {used[0], used[1], used[kInputs], scratch, stream}));
    if (!relayout_.is_copied[kInputs]) return Status::Ok();
    return Copy(relayout_.back[kInputs], used[kInputs], given[kInputs], stream);
  }

 private:
  Status Copy(Relayout task, const void* from, void* to, CUstream stream) const {
    task.from = from;
    task.to = to;
    return layout_.Launch(task, stream);
  }

  CudaDevice& device_;
  const ConvRelayout relayout_;
  const TensorLayout layout_;
  const InnerConv inner_;
};

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuDNN's engines on tensors copied to another layout";
  traits.operator_name = "conv";
  traits.compiles = true;
  // As of the engines themselves.
  traits.compiles_when_loaded = true;
  traits.dynamic = false;
  traits.deterministic = false;
  return traits;
}

class CudnnLayoutConv final : public LayoutSolver {
 public:
  CudnnLayoutConv(const Lazy<Cudnn>& cudnn, const Lazy<Nvrtc>& nvrtc)
      : LayoutSolver({"cuda.cudnn-layout-conv", 1}, Traits(), nvrtc), cudnn_(cudnn) {}

  Result<ConfigSpace> Space(const Problem& problem, const Target&) const override {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            PossibleRelayouts(std::get<Conv>(problem)));
    Parameter layout{kLayout, {}};
    layout.values.assign(names.begin(), names.end());
    return ConfigSpace::Create({std::move(layout)}, {});
  }

 private:
  std::vector<LibraryReport> Libraries() const override {
    return {cudnn_.Get().report(), nvrtc().report};
  }

  Status CheckTakes(const Problem& problem) const override {
    const Conv& conv = std::get<Conv>(problem);
    ATTUNE_RETURN_IF_ERROR(CheckCudnnConvolves(conv));
    return PossibleRelayouts(conv).status();
  }

  // The engines of every layout in turns, so that the library's recommendations for each come
  // first.
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    const Conv& conv = std::get<Conv>(problem);
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, PossibleRelayouts(conv));
    return ListedInTurns(kLayout, names,
                         [&](const std::string& name) { return EnginesOf(device, conv, name); });
  }

  Result<std::vector<Config>> EnginesOf(CudaDevice& device, const Conv& conv,
                                        const std::string& layout) const {
    ATTUNE_ASSIGN_OR_RETURN(const ConvRelayout relayout, LayOutAnew(conv, layout));
    ATTUNE_ASSIGN_OR_RETURN(const CudnnGraph graph, GraphOn(device, relayout.inner));
    return graph.AllConfigs();
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    const Conv& conv = std::get<Conv>(problem);
    const std::string& name = StringAt(config, kLayout);
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, PossibleRelayouts(conv));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return Unsupported(fmt::format(
          "{} does not lay this convolution out as '{}'; its layouts are {}. Tune the problem "
          "again if a record names it.",
          id().name, name, fmt::join(names, ", ")));
    }
    ATTUNE_ASSIGN_OR_RETURN(ConvRelayout relayout, LayOutAnew(conv, name));
    ATTUNE_ASSIGN_OR_RETURN(CudnnGraph graph, GraphOn(device, relayout.inner));
    Config engine = config;
    engine.erase(kLayout);
    ATTUNE_ASSIGN_OR_RETURN(CudnnPlan plan,
                            engine.empty() ? graph.FirstPlan() : graph.PlanOf(engine));
    ATTUNE_ASSIGN_OR_RETURN(TensorLayout layout, TensorLayout::Load(device, artifact, conv.type));
    return std::unique_ptr<Executable>(
        std::make_unique<CudnnLayoutExecutable>(device, std::move(relayout), std::move(layout),
                                                InnerConv{std::move(graph), std::move(plan)}));
  }

  Result<CudnnGraph> GraphOn(CudaDevice& device, const Conv& conv) const {
    ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
    return CudnnGraph::Create(cudnn_.Get(), handle, conv);
  }

  const Lazy<Cudnn>& cudnn_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnLayoutConv(const Lazy<Cudnn>& cudnn,
                                                  const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<CudnnLayoutConv>(cudnn, nvrtc);
}

}  // namespace attune::cuda
