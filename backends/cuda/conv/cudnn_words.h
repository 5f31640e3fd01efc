// What cuDNN's legacy calls and its graphs have in common: types of sums, and which convolutions
// they know.
#pragma once

#include <cudnn.h>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/cudnn/cudnn.h"

namespace attune::cuda {

// What sums of products of `type` are kept in.
cudnnDataType_t CudnnSumType(DataType type);

// Ok, or kUnsupported: transposed convolutions, a bias, integers, and rounding f32 to bf16. Needs
// neither library nor device.
Status CheckCudnnConvolves(const Conv& conv);

}  // namespace attune::cuda
