// A Conv in cuDNN's terms: descriptors, algorithms of its direction, and calls.
#pragma once

#include <cudnn.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_call.h"

namespace attune::cuda {

// Ok, or kUnsupported for convolutions beyond the legacy calls: those that no call of cuDNN
// computes (CheckCudnnConvolves), and tensors of 2^31 elements. Needs neither library nor device.
Status CheckCudnnTakes(const Conv& conv);

// Names of the algorithms of `direction` in the order of cuDNN's enumeration ("implicit_gemm",
// ...), without those that it never implemented. With `deterministic`, without those that add in
// changing order.
std::vector<std::string> CudnnAlgorithmNames(ConvDirection direction, bool deterministic);

// Which units may multiply: "tensor", "fma". The demand of `conv` comes first; a strict f32 has
// "fma" alone.
std::vector<std::string> CudnnMathNames(const Conv& conv);

// True if each group is one channel of the input.
bool IsDepthwise(const Conv& conv);

// True if cuDNN's algorithm 1 keeps parts of long sums in 16 bits: gradients of depthwise filters
// in f16, with results that are off by up to a fifth (9.14, docs/h100_kinds.md). Algorithm 1 is
// cuDNN's own first choice and the deterministic algorithm that takes any shape. Algorithms 0 and 3
// keep their sums.
bool LosesSums(const Conv& conv);
// Ok, or kUnsupported if LosesSums(conv): for callers that have no other algorithm for every shape.
Status CheckKeepsSums(const Conv& conv);

// One convolution with one kind of math. Immutable; used by one thread at a time.
class CudnnProduct {
 public:
  // REQUIRES: CheckCudnnTakes(conv) is ok; `math` is out of CudnnMathNames.
  static Result<CudnnProduct> Create(const Cudnn& cudnn, cudnnHandle_t handle, const Conv& conv,
                                     std::string_view math);

  struct Algorithm {
    int code = 0;  // From the enumeration of the direction.
    size_t workspace_bytes = 0;
  };

  // The first answer of cudnnGetConvolution*Algorithm_v7. kUnsupported if it has no answer.
  Result<Algorithm> FirstAnswer() const;
  // The algorithm called `name`; kUnsupported if it does not compute this convolution.
  Result<Algorithm> Named(std::string_view name) const;

  // The algorithm that FirstAnswer() gave for another convolution of the direction; kUnsupported if
  // it does not compute this one.
  Result<Algorithm> SameAs(const Algorithm& other) const;

  // REQUIRES: the workspace has algorithm.workspace_bytes.
  Status Run(const Algorithm& algorithm, const CudnnCall& call) const;

  const Cudnn& library() const;

 private:
  struct Descriptors;

  explicit CudnnProduct(std::shared_ptr<const Descriptors> descriptors)
      : descriptors_(std::move(descriptors)) {}

  Result<size_t> WorkspaceBytes(int code) const;
  Status Enqueue(const Algorithm& algorithm, const CudnnCall& call) const;

  std::shared_ptr<const Descriptors> descriptors_;
};

}  // namespace attune::cuda
