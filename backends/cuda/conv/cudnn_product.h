// A Conv in cuDNN's words: descriptors, algorithms of its direction, and calls.
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

// Ok, or kUnsupported with what the legacy calls do not compute: what no call of cuDNN does
// (CheckCudnnConvolves), and tensors of 2^31 elements. Needs neither library nor device.
Status CheckCudnnTakes(const Conv& conv);

// Names of the algorithms of `direction` in the order of cuDNN's enumeration ("implicit_gemm",
// ...), without those that it never implemented. With `deterministic`, without those that add in
// changing order.
std::vector<std::string> CudnnAlgorithmNames(ConvDirection direction, bool deterministic);

// Which units may multiply: "tensor", "fma". What `conv` demands comes first; a strict f32 has
// "fma" alone.
std::vector<std::string> CudnnMathNames(const Conv& conv);

// Whether each group is one channel of the input.
bool IsDepthwise(const Conv& conv);

// Whether cuDNN's algorithm 1, which it also chooses first and which is the deterministic one that
// takes any shape, keeps parts of long sums in 16 bits: gradients of depthwise filters in f16, of
// which it makes results that are off by up to a fifth (9.14, docs/h100_kinds.md). Algorithms 0 and
// 3 do not.
bool LosesSums(const Conv& conv);
// Ok, or kUnsupported where it does: of who has no other one for any shape.
Status CheckKeepsSums(const Conv& conv);

// One convolution with one kind of math. Immutable; used by one thread at a time.
class CudnnProduct {
 public:
  // REQUIRES: CheckCudnnTakes(conv) is ok; `math` is out of CudnnMathNames.
  static Result<CudnnProduct> Create(const Cudnn& cudnn, cudnnHandle_t handle, const Conv& conv,
                                     std::string_view math);

  struct Algorithm {
    int code = 0;  // Of the enumeration of the direction.
    size_t workspace_bytes = 0;
  };

  // What cudnnGetConvolution*Algorithm_v7 answers first. kUnsupported if it has no answer.
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
