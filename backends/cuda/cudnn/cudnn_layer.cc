#include "backends/cuda/cudnn/cudnn_layer.h"

#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/driver/addresses.h"

// The legacy calls are deprecated in favour of graphs, which have no pooling with gradients.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {
namespace {

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;

int Int(int64_t x) { return static_cast<int>(x); }

Status CheckCountable(const NetworkLayer& layer) {
  for (const int64_t width : {layer.width, layer.out_width}) {
    const double elements = static_cast<double>(layer.batch) * static_cast<double>(layer.channels) *
                            static_cast<double>(width) * static_cast<double>(width);
    if (elements <= static_cast<double>(kMostElements)) continue;
    return Unsupported(
        fmt::format("cuDNN counts in 31 bits, and {} images of {} channels and {} x {} have {:.0f} "
                    "elements.",
                    layer.batch, layer.channels, width, width, elements));
  }
  return Status::Ok();
}

class LayerExecutable final : public Executable {
 public:
  LayerExecutable(CudaDevice& device, CudnnLayer layer)
      : device_(device), layer_(std::move(layer)) {}

  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    std::vector<void*> addresses;
    for (const BufferView& operand : arguments.operands) addresses.push_back(AddressOf(operand));
    return layer_.Run(addresses, device_.StreamOf(arguments));
  }

 private:
  CudaDevice& device_;
  const CudnnLayer layer_;
};

}  // namespace

// Everything that one layer needs, destroyed together.
struct CudnnLayer::Descriptors {
  Descriptors(const Cudnn& library, cudnnHandle_t its_handle, LayerKind its_kind)
      : cudnn(library), handle(its_handle), kind(its_kind) {}
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    if (in != nullptr) cudnn.cudnnDestroyTensorDescriptor(in);
    if (out != nullptr) cudnn.cudnnDestroyTensorDescriptor(out);
    if (pooling != nullptr) cudnn.cudnnDestroyPoolingDescriptor(pooling);
  }

  Status Create(const NetworkLayer& layer) {
    const bool is_last = kind == LayerKind::kToChannelsLast;
    ATTUNE_RETURN_IF_ERROR(CreateTensor(in, layer, layer.width, false));
    ATTUNE_RETURN_IF_ERROR(CreateTensor(out, layer, layer.out_width, is_last));
    return is_last ? Status::Ok() : CreatePooling(layer);
  }

  // Enqueues the layer. Returns the status of the call.
  cudnnStatus_t Enqueue(std::span<void* const> x) const {
    const float one = 1;
    const float zero = 0;
    switch (kind) {
      case LayerKind::kMaxPool:
        return cudnn.cudnnPoolingForward(handle, pooling, &one, in, x[0], &zero, out, x[1]);
      case LayerKind::kMaxPoolGradient:
        return cudnn.cudnnPoolingBackward(handle, pooling, &one, out, x[2], out, x[1], in, x[0],
                                          &zero, in, x[3]);
      case LayerKind::kToChannelsLast:
        return cudnn.cudnnTransformTensor(handle, &one, in, x[0], &zero, out, x[1]);
    }
    return CUDNN_STATUS_NOT_SUPPORTED;
  }

  const Cudnn& cudnn;
  const cudnnHandle_t handle;
  const LayerKind kind;
  cudnnTensorDescriptor_t in = nullptr;
  cudnnTensorDescriptor_t out = nullptr;
  cudnnPoolingDescriptor_t pooling = nullptr;

 private:
  Status CreateTensor(cudnnTensorDescriptor_t& descriptor, const NetworkLayer& layer, int64_t width,
                      bool channels_last) const {
    const int n = Int(layer.batch), c = Int(layer.channels), w = Int(width);
    const std::array<int, 4> extents = {n, c, w, w};
    const std::array<int, 4> strides =
        channels_last ? std::array{w * w * c, 1, w * c, c} : std::array{w * w * c, w * w, w, 1};
    ATTUNE_RETURN_IF_ERROR(
        cudnn.Check(cudnn.cudnnCreateTensorDescriptor(&descriptor), "cannot describe a tensor"));
    return cudnn.Check(cudnn.cudnnSetTensorNdDescriptor(descriptor, CUDNN_DATA_FLOAT,
                                                        static_cast<int>(extents.size()),
                                                        extents.data(), strides.data()),
                       "does not take a tensor");
  }

  Status CreatePooling(const NetworkLayer& layer) {
    ATTUNE_RETURN_IF_ERROR(
        cudnn.Check(cudnn.cudnnCreatePoolingDescriptor(&pooling), "cannot describe pooling"));
    const int window = Int(layer.window), pad = Int(layer.pad), stride = Int(layer.stride);
    return cudnn.Check(
        cudnn.cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN,
                                          window, window, pad, pad, stride, stride),
        fmt::format("does not take pooling of {} by {} with stride {} and pad {}", window, window,
                    stride, pad));
  }
};

Result<CudnnLayer> CudnnLayer::Create(const Cudnn& cudnn, cudnnHandle_t handle,
                                      const NetworkLayer& layer) {
  ATTUNE_RETURN_IF_ERROR(CheckCountable(layer));
  auto descriptors = std::make_shared<Descriptors>(cudnn, handle, layer.kind);
  ATTUNE_RETURN_IF_ERROR(descriptors->Create(layer));
  return CudnnLayer(std::move(descriptors));
}

Status CudnnLayer::Run(std::span<void* const> operands, CUstream stream) const {
  const Descriptors& d = *descriptors_;
  return d.cudnn.EnqueueOn(stream, d.handle,
                           [&] { return d.cudnn.Check(d.Enqueue(operands), "cannot compute it"); });
}

std::unique_ptr<Executable> MakeCudnnExecutable(CudaDevice& device, CudnnLayer layer) {
  return std::make_unique<LayerExecutable>(device, std::move(layer));
}

}  // namespace attune::cuda
