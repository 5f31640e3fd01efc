// CLBlast as solvers: opencl.clblast-gemm and opencl.clblast-convgemm, with the parameters that its
// own tuning database holds for the device.
//
// CLBlastOverrideParameters is not offered as a space: it changes the whole process, so two
// candidates could not be timed side by side.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/opencl/clblast_library.h"

namespace attune::opencl {

// Both borrow `library`.
std::unique_ptr<const Solver> MakeClblastGemm(const ClblastLibrary& library);
std::unique_ptr<const Solver> MakeClblastConvgemm(const ClblastLibrary& library);

}  // namespace attune::opencl
