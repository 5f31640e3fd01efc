// cuDNN as the backend sees it: solvers, and a line of `attune devices`. It is implemented twice:
// by cudnn_solvers.cc, and by cudnn_left_out.cc, without any solver, where cuDNN's headers were
// missing when this was built.
#pragma once

#include <memory>

#include "attune/solver/backend.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// Thread-safe.
class CudnnSolvers {
 public:
  CudnnSolvers();
  ~CudnnSolvers();

  // The added solvers borrow this object and `nvrtc`.
  void AddConvsTo(SolverList& solvers, const Lazy<Nvrtc>& nvrtc) const;
  void AddBatchNormsTo(SolverList& solvers) const;

  // Loads the library, where there is one to load.
  LibraryReport report() const;

 private:
  struct Library;
  const std::unique_ptr<const Library> library_;
};

}  // namespace attune::cuda
