// Base of the solvers that compute a convolution by another convolution of cuDNN's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/solver/state_keeper.h"
#include "backends/cuda/conv/cudnn_conv_graph.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/library_solver.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {

// The convolution that the library computes, and the engines that compute it.
struct InnerConv {
  CudnnGraph graph;
  CudnnPlan plan;

  Status Run(const CudnnCall& call) const { return graph.Run(plan, call); }
};

// The copies have several layouts, each with an inner convolution of its own. A config is the
// `layout` and optionally an engine as of cuda.cudnn-graph-conv for the inner convolution; without
// one it is the library's first recommendation. Subclasses list the layouts and run the kernels
// that copy.
class CompositeConv : public LibrarySolver, public StateKeeper {
 public:
  struct Borrowed {
    const Lazy<Cudnn>& cudnn;
    const Lazy<Nvrtc>& nvrtc;
  };

  // Every layout, best guess first.
  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const final;
  // Every config of a problem builds the same kernels, those of its element type.
  Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                             const Target& target) const final;
  Result<Artifact> Build(const BuildRecipe& recipe) const final;

  bool ServesUntried(const Config& config) const final { return ServesUntriedOfCudnn(config); }

  BuildRecipe StateKey(const Problem& problem, const Config& config,
                       const Target& target) const final;
  // The state is the text of the inner convolution's plan.
  Result<LoadedWithState> LoadWith(std::string_view state, const BuiltCandidate& built,
                                   Device& device) const final;

 protected:
  // Engines that are not of `engines` are not used.
  CompositeConv(SolverId id, std::string description, const Borrowed& libraries,
                CudnnEngines engines = CudnnEngines::kAllowed);

 private:
  // At least one, best guess first; or kUnsupported with the reason. REQUIRES, as below:
  // CheckCudnnConvolves(conv) is ok.
  virtual Result<std::vector<std::string>> Layouts(const Conv& conv) const = 0;
  // The convolution that cuDNN computes. REQUIRES, as below: `layout` is one of Layouts(conv).
  virtual Result<Conv> InnerOf(const Conv& conv, std::string_view layout) const = 0;
  virtual Result<std::unique_ptr<Executable>> LoadLayout(CudaDevice& device, const Conv& conv,
                                                         std::string_view layout,
                                                         TensorLayout kernels,
                                                         InnerConv inner) const = 0;

  std::vector<LibraryReport> Libraries() const final;
  Status CheckTakes(const Problem& problem) const final;
  // The engines of every layout in turns, so that the library's recommendations for each come
  // first.
  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const final;
  Result<std::vector<Config>> EnginesOf(CudaDevice& device, const Conv& conv,
                                        const std::string& layout) const;
  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const final;
  Result<LoadedWithState> LoadPlan(CudaDevice& device, const BuiltCandidate& built,
                                   std::string_view json) const;
  Result<CudnnGraph> GraphOn(CudaDevice& device, const Conv& inner) const;

  const Lazy<Cudnn>& cudnn_;
  const Lazy<Nvrtc>& nvrtc_;
  const CudnnEngines engines_;
};

}  // namespace attune::cuda
