// The entry point of attune_onednn.so.
#include "attune/solver/plugin.h"
#include "backends/onednn/batch_norm/onednn_batch_norm.h"
#include "backends/onednn/conv/onednn_conv.h"
#include "backends/onednn/gemm/onednn_gemm.h"
#include "backends/onednn/library_report.h"
#include "backends/onednn/onednn_adapter.h"
#include "backends/onednn/softmax/onednn_softmax.h"

namespace {

// An exception here means that the library has no CPU engine; then the plug-in has no solvers.
attune::SolverList MakeSolvers() {
  attune::SolverList solvers;
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    for (const auto make :
         {attune::onednn::MakeConvSolver, attune::onednn::MakeGemmSolver,
          attune::onednn::MakeSoftmaxSolver, attune::onednn::MakeBatchNormSolver}) {
      solvers.push_back(make(engine));
    }
  } catch (const dnnl::error&) {
    solvers.clear();
  }
  return solvers;
}

}  // namespace

const attune::PluginDescription* attune_plugin() {
  static const attune::PluginDescription kDescription = {
      .name = "onednn",
      .make_solvers = &MakeSolvers,
      .report = &attune::onednn::ReportLibrary,
  };
  return &kDescription;
}
