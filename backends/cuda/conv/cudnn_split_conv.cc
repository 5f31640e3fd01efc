#include "backends/cuda/conv/cudnn_split_conv.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/composite_conv.h"
#include "backends/cuda/conv/conv_split.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

class CudnnSplitExecutable final : public Executable {
 public:
  CudnnSplitExecutable(CudaDevice& device, const ConvSplit& split, TensorLayout layout,
                       InnerConv inner)
      : device_(device), split_(split), layout_(std::move(layout)), inner_(std::move(inner)) {}

  size_t workspace_bytes() const override {
    return split_.CopiesBytes() + ScratchBytes(inner_.plan.workspace_bytes);
  }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    Places places = PlacesOf(arguments);
    ATTUNE_RETURN_IF_ERROR(SplitInput(1, places));
    for (int64_t round = 0; round < split_.rounds; ++round) {
      ATTUNE_RETURN_IF_ERROR(RunRound(places));
      for (size_t i = 0; i < places.given.size(); ++i) places.given[i] += split_.steps_bytes[i];
    }
    return Status::Ok();
  }

 private:
  // Addresses of one round.
  struct Places {
    std::array<std::byte*, 3> given;
    std::array<std::byte*, 2> parts;
    std::byte* output;   // A copy, if there is one.
    std::byte* scratch;  // For the library.
    CUstream stream;
  };

  Places PlacesOf(const Arguments& arguments) const {
    Places places = {};
    for (size_t i = 0; i < places.given.size(); ++i) {
      places.given[i] = BytesAt(arguments.operands[i]);
    }
    places.parts[0] = BytesAt(arguments.workspace);
    places.parts[1] = places.parts[0] + ScratchBytes(split_.parts_bytes[0]);
    places.output = places.parts[1] + ScratchBytes(split_.parts_bytes[1]);
    places.scratch = BytesAt(arguments.workspace) + split_.CopiesBytes();
    places.stream = device_.StreamOf(arguments);
    return places;
  }

  Status SplitInput(size_t i, const Places& places) const {
    Split task = split_.into[i];
    task.copy.from = places.given[i];
    task.copy.to = places.parts[i];
    return layout_.Launch(task, places.stream);
  }

  Status RunRound(const Places& places) const {
    std::byte* const output = split_.is_output_copied ? places.output : places.given[2];
    ATTUNE_RETURN_IF_ERROR(SplitInput(0, places));
    ATTUNE_RETURN_IF_ERROR(
        inner_.Run({places.parts[0], places.parts[1], output, places.scratch, places.stream}));
    if (!split_.is_output_copied) return Status::Ok();
    Relayout task = split_.output_back;
    task.from = output;
    task.to = places.given[2];
    return layout_.Launch(task, places.stream);
  }

  CudaDevice& device_;
  const ConvSplit split_;
  const TensorLayout layout_;
  const InnerConv inner_;
};

class CudnnSplitConv final : public CompositeConv {
 public:
  // Engines without tensor cores would do thrice the work at the old rate.
  explicit CudnnSplitConv(const Borrowed& libraries)
      : CompositeConv({"cuda.cudnn-split-conv", 1},
                      "cuDNN's tensor-core engines on f32 split into tf32 parts", libraries,
                      CudnnEngines::kTensorCores) {}

 private:
  Status CheckRunsOn(const Target& target) const override { return CheckSplitsPay(target); }

  Result<std::vector<std::string>> Layouts(const Conv& conv) const override {
    return PossibleSplits(conv);
  }

  Result<Conv> InnerOf(const Conv& conv, std::string_view layout) const override {
    ATTUNE_ASSIGN_OR_RETURN(const ConvSplit split, SplitInLayout(conv, layout));
    return split.inner;
  }

  Result<std::unique_ptr<Executable>> LoadLayout(CudaDevice& device, const Conv& conv,
                                                 std::string_view layout, TensorLayout kernels,
                                                 InnerConv inner) const override {
    ATTUNE_ASSIGN_OR_RETURN(const ConvSplit split, SplitInLayout(conv, layout));
    return std::unique_ptr<Executable>(std::make_unique<CudnnSplitExecutable>(
        device, split, std::move(kernels), std::move(inner)));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnSplitConv(const Lazy<Cudnn>& cudnn,
                                                 const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<CudnnSplitConv>(CompositeConv::Borrowed{cudnn, nvrtc});
}

}  // namespace attune::cuda
