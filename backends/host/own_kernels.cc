#include "backends/host/own_kernels.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "backends/host/kernels/kernel_choice.h"

namespace attune::host {
namespace {

// CMakeLists.txt defines the hashes, and says of which files.
constexpr std::array<std::pair<const char*, const char*>, 5> kSourceHashes = {{
    {"packed", ATTUNE_SOURCES_OF_PACKED},
    {"gemv", ATTUNE_SOURCES_OF_GEMV},
    {"direct", ATTUNE_SOURCES_OF_DIRECT},
    {"im2col", ATTUNE_SOURCES_OF_GEMM_CONV},
    {"conv1x1", ATTUNE_SOURCES_OF_GEMM_CONV},
}};

}  // namespace

Environment DescribeOwnKernels(IsaLevel level) {
  const KernelTable& kernels = KernelsFor(level);
  Environment environment;
  for (const auto& [name, sources] : kSourceHashes) {
    environment[fmt::format("library.{}.build_id", name)] =
        fmt::format("{} {} {}", kernels.compiled_for, kernels.compiler, sources);
  }
  return environment;
}

}  // namespace attune::host
