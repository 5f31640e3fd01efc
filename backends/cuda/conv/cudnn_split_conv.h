// Strict convolutions of f32 by tensor cores, through cuDNN's engines, as a solver.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// `cuda.cudnn-split-conv`: a convolution of tf32 numbers with the sums of f32 (conv_split.h). A
// config is the `layout` of the parts and optionally an engine as of cuda.cudnn-graph-conv for the
// convolution of the parts; without one it is the library's first recommendation that has tensor
// cores. One launch splits the weights. Each round of images takes one launch to split them, the
// engine's, and one to lay the output out anew where it is copied.
//
// Minimum memory traffic: seven times the inputs, which are read once while their three parts are
// written and read, and the output once, or three times where it is laid out anew.
//
// Differences from sums of f32: an infinity in an input may give NaN instead of infinity, since it
// meets zeros and low parts of the other sign (NaN stays NaN), and a product within 2^-9 of the
// largest f32 may become infinite. Numbers below 2^-103 may lose bits of their low part, which no
// normal number holds. Tensor cores truncate sums, so very long ones drift further than rounded
// ones; verification refuses those that drift too far.
//
// Borrows both.
std::unique_ptr<const Solver> MakeCudnnSplitConv(const Lazy<Cudnn>& cudnn,
                                                 const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
