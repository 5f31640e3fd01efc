#include "backends/cuda/cudnn/cudnn_solvers.h"

#include "backends/cuda/batch_norm/cudnn_batch_norm.h"
#include "backends/cuda/batch_norm/cudnn_graph_batch_norm.h"
#include "backends/cuda/conv/cudnn_conv.h"
#include "backends/cuda/conv/cudnn_graph_conv.h"
#include "backends/cuda/conv/cudnn_instant_conv.h"
#include "backends/cuda/conv/cudnn_layout_conv.h"
#include "backends/cuda/conv/cudnn_split_conv.h"
#include "backends/cuda/cudnn/cudnn.h"

namespace attune::cuda {

struct CudnnSolvers::Library {
  const Lazy<Cudnn> cudnn;
};

CudnnSolvers::CudnnSolvers() : library_(std::make_unique<const Library>()) {}
CudnnSolvers::~CudnnSolvers() = default;

void CudnnSolvers::AddConvsTo(SolverList& solvers, const Lazy<Nvrtc>& nvrtc) const {
  const Lazy<Cudnn>& cudnn = library_->cudnn;
  solvers.push_back(MakeCudnnConv(cudnn));
  solvers.push_back(MakeCudnnInstantConv(cudnn));
  solvers.push_back(MakeCudnnImplicitConv(cudnn));
  solvers.push_back(MakeCudnnGraphConv(cudnn));
  solvers.push_back(MakeCudnnLayoutConv(cudnn, nvrtc));
  solvers.push_back(MakeCudnnSplitConv(cudnn, nvrtc));
}

void CudnnSolvers::AddBatchNormsTo(SolverList& solvers) const {
  solvers.push_back(MakeCudnnBatchNorm(library_->cudnn));
  solvers.push_back(MakeCudnnGraphBatchNorm(library_->cudnn));
}

LibraryReport CudnnSolvers::report() const { return library_->cudnn.Get().report(); }

}  // namespace attune::cuda
