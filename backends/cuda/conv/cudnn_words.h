// Shared by cuDNN's legacy calls and its graphs: types of sums, and the check for convolutions that
// they compute.
#pragma once

#include <cudnn.h>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/cudnn/cudnn.h"

namespace attune::cuda {

// The type of sums of products of `type`.
cudnnDataType_t CudnnSumType(DataType type);

// Ok, or kUnsupported: transposed convolutions, a bias, integers, and rounding f32 to bf16. Needs
// neither library nor device.
Status CheckCudnnConvolves(const Conv& conv);

}  // namespace attune::cuda
