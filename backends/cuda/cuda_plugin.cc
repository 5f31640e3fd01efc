// The entry point of attune_cuda.so.
#include "attune/kernel/kernel_library.h"
#include "attune/solver/plugin.h"
#include "backends/cuda/cuda_backend.h"

namespace {

std::unique_ptr<const attune::Backend> MakeBackend() {
  return attune::cuda::CudaBackend(attune::kernel::KernelFolders());
}

constexpr attune::PluginDescription kDescription = {.name = "cuda",
                                                    .make_backend = MakeBackend,
                                                    .target_of = attune::cuda::TargetOf,
                                                    .toolchain = "nvrtc"};

}  // namespace

const attune::PluginDescription* attune_plugin() { return &kDescription; }
