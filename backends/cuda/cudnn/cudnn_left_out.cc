// Replaces all users of cuDNN if its headers were missing.
#include "backends/cuda/cudnn/cudnn_solvers.h"

namespace attune::cuda {

struct CudnnSolvers::Library {};

CudnnSolvers::CudnnSolvers() = default;
CudnnSolvers::~CudnnSolvers() = default;

void CudnnSolvers::AddConvsTo(SolverList&, const Lazy<Nvrtc>&) const {}
void CudnnSolvers::AddBatchNormsTo(SolverList&) const {}

LibraryReport CudnnSolvers::report() const {
  LibraryReport report;
  report.name = "cudnn";
  report.missing =
      "cuDNN's headers (cudnn.h, package libcudnn9-dev-cuda-13) were missing when attune was "
      "built, so its convolutions are no candidates. Install them and build again.";
  return report;
}

}  // namespace attune::cuda
