#include "backends/cuda/conv/cudnn_layout_conv.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/conv/composite_conv.h"
#include "backends/cuda/conv/conv_relayout.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

constexpr size_t kInputs = 2;  // The output is behind them.

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
    ATTUNE_RETURN_IF_ERROR(inner_.Run({used[0], used[1], used[kInputs], scratch, stream}));
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

class CudnnLayoutConv final : public CompositeConv {
 public:
  explicit CudnnLayoutConv(const Borrowed& libraries)
      : CompositeConv({"cuda.cudnn-layout-conv", 1},
                      "cuDNN's engines on tensors copied to another layout", libraries) {}

 private:
  Result<std::vector<std::string>> Layouts(const Conv& conv) const override {
    return PossibleRelayouts(conv);
  }

  Result<Conv> InnerOf(const Conv& conv, std::string_view layout) const override {
    ATTUNE_ASSIGN_OR_RETURN(const ConvRelayout relayout, LayOutAnew(conv, layout));
    return relayout.inner;
  }

  Result<std::unique_ptr<Executable>> LoadLayout(CudaDevice& device, const Conv& conv,
                                                 std::string_view layout, TensorLayout kernels,
                                                 InnerConv inner) const override {
    ATTUNE_ASSIGN_OR_RETURN(ConvRelayout relayout, LayOutAnew(conv, layout));
    return std::unique_ptr<Executable>(std::make_unique<CudnnLayoutExecutable>(
        device, std::move(relayout), std::move(kernels), std::move(inner)));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeCudnnLayoutConv(const Lazy<Cudnn>& cudnn,
                                                  const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<CudnnLayoutConv>(CompositeConv::Borrowed{cudnn, nvrtc});
}

}  // namespace attune::cuda
