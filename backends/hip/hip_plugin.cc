// The entry point of attune_hip.so.
#include "attune/kernel/kernel_library.h"
#include "attune/solver/plugin.h"
#include "backends/hip/hip_backend.h"

namespace {

std::unique_ptr<const attune::Backend> MakeBackend() {
  return attune::hip::HipBackend(attune::kernel::KernelFolders());
}

constexpr attune::PluginDescription kDescription = {.name = "hip",
                                                    .make_backend = MakeBackend,
                                                    .target_of = attune::hip::TargetOf,
                                                    .toolchain = "hipcc"};

}  // namespace

const attune::PluginDescription* attune_plugin() { return &kDescription; }
