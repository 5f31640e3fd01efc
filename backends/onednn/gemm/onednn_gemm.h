// host.onednn-gemm: the matmul primitive of oneDNN.
#pragma once

#include <memory>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/solver/solver.h"

namespace attune::onednn {

// Every type that the library takes on this CPU; alpha, beta, bias and activation run inside of the
// primitive. Parameters: impl (the library's own name), layout (plain, or any: a and b are packed
// first, at every launch), threads.
std::unique_ptr<const Solver> MakeGemmSolver(const dnnl::engine& engine);

}  // namespace attune::onednn
