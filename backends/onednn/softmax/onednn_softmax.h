// host.onednn-softmax: the softmax primitives of oneDNN with the reorders that they need.
#pragma once

#include <memory>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/solver/solver.h"

namespace attune::onednn {

// Both directions, along any axis, also of the logarithm, without a mask; every type that the
// library takes on this CPU. A factor is a primitive of its own. Parameters: impl (the library's
// own name), layout (of the tensors inside of the primitive: plain, axis_last, blocked16, blocked8,
// and each with _f32), threads.
std::unique_ptr<const Solver> MakeSoftmaxSolver(const dnnl::engine& engine);

}  // namespace attune::onednn
