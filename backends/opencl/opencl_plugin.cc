// The entry point of attune_opencl.so.
#include "attune/kernel/kernel_library.h"
#include "attune/solver/plugin.h"
#include "backends/opencl/opencl_backend.h"

namespace {

std::unique_ptr<const attune::Backend> MakeBackend() {
  return attune::opencl::OpenClBackend(attune::kernel::KernelFolders());
}

constexpr attune::PluginDescription kDescription = {.name = "opencl", .make_backend = MakeBackend};

}  // namespace

const attune::PluginDescription* attune_plugin() { return &kDescription; }
