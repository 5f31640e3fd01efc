// Pooling and changes of layout by cuDNN's legacy calls.
#pragma once

#include <cuda.h>
#include <cudnn.h>

#include <memory>
#include <span>
#include <utility>

#include "attune/base/status.h"
#include "attune/solver/layer_library.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {

// One layer. Immutable; used by one thread at a time.
class CudnnLayer {
 public:
  // kUnsupported for tensors of 2^31 elements, and for layers that cuDNN refuses.
  static Result<CudnnLayer> Create(const Cudnn& cudnn, cudnnHandle_t handle,
                                   const NetworkLayer& layer);

  // Addresses of the operands in the order of the layer's kind.
  Status Run(std::span<void* const> operands, CUstream stream) const;

 private:
  struct Descriptors;

  explicit CudnnLayer(std::shared_ptr<const Descriptors> descriptors)
      : descriptors_(std::move(descriptors)) {}

  std::shared_ptr<const Descriptors> descriptors_;
};

// Borrows `device`.
std::unique_ptr<Executable> MakeCudnnExecutable(CudaDevice& device, CudnnLayer layer);

}  // namespace attune::cuda
