#include "backends/cuda/cudnn_words.h"

#include <fmt/format.h>

namespace attune::cuda {

cudnnDataType_t CudnnTypeOf(DataType type) {
  switch (type) {
    case DataType::kF16:
      return CUDNN_DATA_HALF;
    case DataType::kBf16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::kF64:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

cudnnDataType_t CudnnSumType(DataType type) {
  return type == DataType::kF64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

Status CheckCudnnConvolves(const Conv& conv) {
  if (conv.mode != ConvMode::kConvolution) {
    return Unsupported("cuDNN has no transposed convolution as such.");
  }
  if (conv.bias) return Unsupported("A bias is no part of what cuDNN is asked for here.");
  const bool is_computed = conv.type == DataType::kF32 || conv.type == DataType::kF16 ||
                           conv.type == DataType::kBf16 || conv.type == DataType::kF64;
  if (!is_computed || conv.math == MathMode::kBf16) {
    return Unsupported(fmt::format("cuDNN is not asked to convolve {} with math '{}'.",
                                   Name(conv.type), Name(conv.math)));
  }
  return Status::Ok();
}

}  // namespace attune::cuda
