// Batch norms as graphs of cuDNN. Training and backward are a norm operation; training adds
// pointwise operations for a residual and a ReLU. Inference has pointwise operations only: cuDNN
// 9.28 has no engine for the norm operation in that phase.
#pragma once

#include <cuda.h>
#include <cudnn.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_graph.h"

namespace attune::cuda {

// Ok, or kUnsupported for batch norms that the norm operation cannot describe or that cuDNN
// documents as unsupported: training and backward without gamma and beta, per activation, with a
// residual and no ReLU, with channels that do not fill 16 bytes and operands that are not aligned
// to them; backward without saved statistics, and of fused batch norms: cuDNN 9.19 on an H200
// accepts a masked gradient in front of the norm operation, and its kernel then accesses illegal
// addresses. The library decides on all others. Needs neither library nor device.
Status CheckCudnnNormGraph(const BatchNorm& norm);

// One batch norm. Immutable; used by one thread at a time.
class CudnnBatchNormGraph {
 public:
  // kUnsupported if the library does not take the graph.
  // REQUIRES: CheckCudnnNormGraph(norm) is ok.
  static Result<CudnnBatchNormGraph> Create(const Cudnn& cudnn, cudnnHandle_t handle,
                                            const BatchNorm& norm);

  const CudnnGraph& graph() const { return graph_; }

  // The plan's workspace, followed by statistics that the operation writes and the problem lacks.
  size_t WorkspaceBytes(const CudnnPlan& plan) const;

  // Epsilon is alpha, and the momentum beta. The running statistics are updated in place: the
  // operation reads and writes the same memory, as NVIDIA's own group batch norm does.
  Status Run(const CudnnPlan& plan, const Arguments& arguments, CUstream stream) const;

 private:
  friend class NormGraphWriter;

  // The source of a tensor's address.
  struct Source {
    enum class Kind { kOperand, kScratch, kEpsilon, kMomentum };
    Kind kind = Kind::kOperand;
    size_t index = 0;  // The operand or scratch vector.
  };

  CudnnBatchNormGraph(CudnnGraph graph, std::vector<Source> sources, size_t scratch_bytes)
      : graph_(std::move(graph)), sources_(std::move(sources)), scratch_bytes_(scratch_bytes) {}

  CudnnGraph graph_;
  std::vector<Source> sources_;  // One for each tensor that has an address, in their order.
  size_t scratch_bytes_;         // Size of one vector of statistics.
};

}  // namespace attune::cuda
