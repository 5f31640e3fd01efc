#include "backends/host/conv/conv_solvers.h"

#include <algorithm>

#include "backends/host/conv/direct_conv.h"
#include "backends/host/conv/gemm_conv.h"
#include "backends/host/conv/reference_conv.h"

namespace attune::host {

SolverList MakeHostConvSolvers(const std::vector<const Solver*>& gemm_solvers, ThreadPool& pool,
                               IsaLevel level) {
  SolverList solvers;
  if (level >= IsaLevel::kV2) solvers.push_back(MakeDirectConvSolver(pool, level));
  for (const GemmConvKind kind : {GemmConvKind::kPointwise, GemmConvKind::kIm2col}) {
    for (const Solver* gemm : gemm_solvers) {
      solvers.push_back(MakeGemmConvSolver(kind, *gemm, pool));
    }
  }
  solvers.push_back(MakeReferenceConvSolver(pool));
  std::stable_partition(solvers.begin(), solvers.end(),
                        [](const auto& solver) { return !solver->traits().last_resort; });
  return solvers;
}

}  // namespace attune::host
