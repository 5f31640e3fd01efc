#include "backends/cuda/conv/composite_conv.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/cudnn_words.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/layout/in_turns.h"

namespace attune::cuda {
namespace {

constexpr const char* kLayout = "layout";

SolverTraits TraitsOf(std::string description) {
  SolverTraits traits;
  traits.description = std::move(description);
  traits.operator_name = "conv";
  traits.checks_alignment = true;
  traits.compiles = true;
  // The traits of the engines themselves.
  traits.compiles_when_loaded = true;
  traits.dynamic = false;
  traits.deterministic = false;
  return traits;
}

}  // namespace

CompositeConv::CompositeConv(SolverId id, std::string description, const Borrowed& libraries,
                             CudnnEngines engines)
    : LibrarySolver(std::move(id), TraitsOf(std::move(description))),
      cudnn_(libraries.cudnn),
      nvrtc_(libraries.nvrtc),
      engines_(engines) {}

Result<ConfigSpace> CompositeConv::Space(const Problem& problem, const Target&) const {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, Layouts(problem.Get<Conv>()));
  Parameter layout{kLayout, {}};
  layout.values.assign(names.begin(), names.end());
  return ConfigSpace::Create({std::move(layout)}, {});
}

Result<BuildRecipe> CompositeConv::Recipe(const Problem& problem, const Config&,
                                          const Target& target) const {
  return TensorLayoutRecipe(nvrtc_.Get(), problem.Get<Conv>().type, target.arch);
}

Result<Artifact> CompositeConv::Build(const BuildRecipe& recipe) const {
  return BuildCubin(nvrtc_.Get(), recipe);
}

std::vector<LibraryReport> CompositeConv::Libraries() const {
  return {cudnn_.Get().report(), nvrtc_.Get().report};
}

Status CompositeConv::CheckTakes(const Problem& problem) const {
  const Conv& conv = problem.Get<Conv>();
  ATTUNE_RETURN_IF_ERROR(CheckCudnnConvolves(conv));
  return Layouts(conv).status();
}

Result<std::vector<Config>> CompositeConv::List(CudaDevice& device, const Problem& problem) const {
  const Conv& conv = problem.Get<Conv>();
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, Layouts(conv));
  return ListedInTurns(kLayout, names,
                       [&](const std::string& name) { return EnginesOf(device, conv, name); });
}

Result<std::vector<Config>> CompositeConv::EnginesOf(CudaDevice& device, const Conv& conv,
                                                     const std::string& layout) const {
  ATTUNE_ASSIGN_OR_RETURN(const Conv inner, InnerOf(conv, layout));
  ATTUNE_ASSIGN_OR_RETURN(const CudnnGraph graph, GraphOn(device, inner));
  return graph.AllConfigs();
}

BuildRecipe CompositeConv::StateKey(const Problem& problem, const Config& config,
                                    const Target& target) const {
  return PlanKey(cudnn_.Get().report(), problem, {id(), config}, target);
}

Result<LoadedWithState> CompositeConv::LoadWith(std::string_view state, const BuiltCandidate& built,
                                                Device& device) const {
  return LoadingOn(device, [&](CudaDevice& cuda) { return LoadPlan(cuda, built, state); });
}

Result<std::unique_ptr<Executable>> CompositeConv::LoadOn(CudaDevice& device,
                                                          const Artifact& artifact,
                                                          const Problem& problem,
                                                          const Config& config) const {
  ATTUNE_ASSIGN_OR_RETURN(LoadedWithState loaded,
                          LoadPlan(device, {artifact, problem, config}, {}));
  return std::move(loaded.executable);
}

Result<LoadedWithState> CompositeConv::LoadPlan(CudaDevice& device, const BuiltCandidate& built,
                                                std::string_view json) const {
  const Conv& conv = built.problem.Get<Conv>();
  const std::string& name = StringAt(built.config, kLayout);
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> names, Layouts(conv));
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Unsupported(fmt::format(
        "{} does not lay this convolution out as '{}'; its layouts are {}. Tune the problem "
        "again if a record names it.",
        id().name, name, fmt::join(names, ", ")));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Conv inner, InnerOf(conv, name));
  ATTUNE_ASSIGN_OR_RETURN(CudnnGraph graph, GraphOn(device, inner));
  Config engine = built.config;
  engine.erase(kLayout);
  ATTUNE_ASSIGN_OR_RETURN(CudnnKeptPlan kept, graph.PlanWith(json, engine));
  ATTUNE_ASSIGN_OR_RETURN(TensorLayout kernels,
                          TensorLayout::Load(device, built.artifact, conv.type));
  LoadedWithState loaded;
  ATTUNE_ASSIGN_OR_RETURN(loaded.executable,
                          LoadLayout(device, conv, name, std::move(kernels),
                                     InnerConv{std::move(graph), std::move(kept.plan)}));
  loaded.is_out_of_state = kept.is_read;
  loaded.state = std::move(kept.json);
  return loaded;
}

Result<CudnnGraph> CompositeConv::GraphOn(CudaDevice& device, const Conv& inner) const {
  ATTUNE_ASSIGN_OR_RETURN(const cudnnHandle_t handle, cudnn_.Get().HandleOf(device.stream()));
  return MakeCudnnConvGraph(cudnn_.Get(), handle, inner, engines_);
}

}  // namespace attune::cuda
