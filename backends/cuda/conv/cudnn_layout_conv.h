// cuDNN's engines on copies of the tensors in another layout, as a solver.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// `cuda.cudnn-layout-conv`: a config is the `layout` of the copies (conv_relayout.h), and
// optionally an engine as of cuda.cudnn-graph-conv for the convolution of the copies; without one
// it is the library's first recommendation. One launch for each copied tensor. Borrows both.
std::unique_ptr<const Solver> MakeCudnnLayoutConv(const Lazy<Cudnn>& cudnn,
                                                  const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
