// The products of the host backend.
#pragma once

#include <memory>

#include "attune/solver/backend.h"
#include "attune/solver/solver.h"
#include "backends/host/cpu.h"
#include "backends/host/gemm/blas_library.h"
#include "backends/host/gemm/gemm_executable.h"

namespace attune::host {

// cblas_?gemm, and cblas_?gemv where one side of C is 1, of the library behind `blas`: named
// host.openblas-gemm or host.blis-gemm. `blas` must outlive the solver.
std::unique_ptr<const Solver> MakeBlasGemm(const LazyBlas& blas, HostResources resources);

// host.packed-gemm: our own blocked product.
std::unique_ptr<const Solver> MakePackedGemm(HostResources resources);

// host.gemv-gemm: our own product for a C of at most 8 rows or columns.
std::unique_ptr<const Solver> MakeSkinnyGemm(HostResources resources);

// host.libxsmm-gemm. Null if this build has no libxsmm.
std::unique_ptr<const Solver> MakeXsmmGemm(HostResources resources);
LibraryReport ReportXsmm();

// host.eigen-gemm. Null if this build has no Eigen. `level` is the processor's.
std::unique_ptr<const Solver> MakeEigenGemm(IsaLevel level, HostResources resources);
LibraryReport ReportEigen(IsaLevel level);

// host.reference-gemm: every type, sums in double precision, slow.
std::unique_ptr<const Solver> MakeReferenceGemm(HostResources resources);

}  // namespace attune::host
