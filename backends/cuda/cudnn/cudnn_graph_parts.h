// Descriptions of the tensors and operations of a cuDNN graph, before the graph is made.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/tensor.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_backend.h"

namespace attune::cuda {

enum class CudnnTensorKind {
  kOperand,  // In device memory.
  kValue,    // A number in host memory, read when the graph is launched.
  kVirtual,  // Between two operations; has no address.
};

struct CudnnTensor {
  TensorDesc tensor;
  CudnnTensorKind kind = CudnnTensorKind::kOperand;
  int alignment_bytes = kMostAlignmentBytes;

  // Engines require at most this.
  static constexpr int kMostAlignmentBytes = 16;
};

// Finalised descriptors, which refer to each other. The library's names of tensors are their
// numbers, from 1, in the order of addition.
class CudnnGraphParts {
 public:
  using Part = size_t;

  // Borrows `cudnn`.
  CudnnGraphParts(const Cudnn& cudnn, cudnnHandle_t handle) : cudnn_(&cudnn), handle_(handle) {}

  Result<Part> AddTensor(const CudnnTensor& tensor);

  // A descriptor to set attributes of, and then to add.
  Result<CudnnDescriptor> Begin(cudnnBackendDescriptorType_t type) const {
    return CudnnDescriptor::Create(*cudnn_, type);
  }
  Result<Part> Add(CudnnDescriptor described);
  // In the order of the data flow.
  Status AddOperation(CudnnDescriptor described);

  const CudnnDescriptor& operator[](Part part) const { return parts_[part]; }

  // The graph of all operations. It refers to the parts.
  Result<CudnnDescriptor> MakeGraph() const;

  const Cudnn& cudnn() const { return *cudnn_; }
  cudnnHandle_t handle() const { return handle_; }
  // Names of the tensors that have an address, in the order of addition.
  const std::vector<int64_t>& ids() const { return ids_; }

 private:
  const Cudnn* cudnn_;
  cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<int64_t> ids_;
  int64_t last_id_ = 0;
};

}  // namespace attune::cuda
