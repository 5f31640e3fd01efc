// host.onednn-batch_norm: the batch normalisation primitives of oneDNN with the reorders that they
// need.
#pragma once

#include <memory>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/solver/solver.h"

namespace attune::onednn {

// All passes and modes; a ReLU, but no residual in a forward pass; every type that the library
// takes on this CPU. Parameters: impl (the library's own name), layout (of the tensors inside of
// the primitive: plain, nhwc, nchw, blocked16 or blocked8), threads.
std::unique_ptr<const Solver> MakeBatchNormSolver(const dnnl::engine& engine);

}  // namespace attune::onednn
