#include "backends/cuda/conv/cudnn_words.h"

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"

namespace attune::cuda {

cudnnDataType_t CudnnSumType(DataType type) {
  return type == DataType::kF64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

Status CheckCudnnConvolves(const Conv& conv) {
  if (conv.mode != ConvMode::kConvolution) {
    return Unsupported(
        "cuDNN has no transposed convolution as such. Ask for the gradient by the input of the "
        "plain one, which is the same, or leave it to solvers that are not cuDNN's.");
  }
  if (conv.bias) {
    return Unsupported(
        "A bias is no part of what cuDNN is asked for here. Add it behind the convolution, or "
        "leave it to solvers that are not cuDNN's.");
  }
  const bool is_computed = conv.type == DataType::kF32 || conv.type == DataType::kF16 ||
                           conv.type == DataType::kBf16 || conv.type == DataType::kF64;
  if (!is_computed || conv.math == MathMode::kBf16) {
    return Unsupported(
        fmt::format("cuDNN is not asked to convolve {} with math '{}', but f16, bf16, f32 and f64 "
                    "with any other. Solvers that are not cuDNN's may compute it.",
                    Name(conv.type), Name(conv.math)));
  }
  return Status::Ok();
}

}  // namespace attune::cuda
