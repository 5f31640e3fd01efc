// host.onednn-conv: the convolution primitives of oneDNN with the reorders that they need.
#pragma once

#include <memory>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/solver/solver.h"

namespace attune::onednn {

// All three directions, 2-D and 3-D, groups, dilation; every type that the library takes on this
// CPU. Parameters: algorithm, impl (the library's own name), layout (of the operands inside of the
// primitive: any, nhwc, nchw, blocked16, blocked8, or as the caller stores them), threads.
std::unique_ptr<const Solver> MakeConvSolver(const dnnl::engine& engine);

}  // namespace attune::onednn
