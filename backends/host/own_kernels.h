// Which build of our own kernels this is, so that records of them end when their code changes.
#pragma once

#include "attune/problem/target.h"
#include "backends/host/cpu.h"

namespace attune::host {

// "library.packed.build_id", "library.gemv.build_id", "library.direct.build_id",
// "library.im2col.build_id" and "library.conv1x1.build_id", named as the solvers that run them: the
// level of the instruction set, the compiler, and a hash of the sources and compiler flags. Equal
// in every program of one build.
Environment DescribeOwnKernels(IsaLevel level);

}  // namespace attune::host
