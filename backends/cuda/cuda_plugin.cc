// The entry point of attune_cuda.so.
#include "attune/solver/plugin.h"
#include "backends/cuda/cuda_backend.h"

namespace {

constexpr attune::PluginDescription kDescription = {.name = "cuda",
                                                    .make_backend = attune::cuda::CudaBackend};

}  // namespace

const attune::PluginDescription* attune_plugin() { return &kDescription; }
