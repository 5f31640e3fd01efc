// Which source file a solver's kernel is compiled from, where that is certain.
#pragma once

#include <span>
#include <string_view>

namespace attune::miopen {

struct KernelSource {
  std::string_view solver;
  std::string_view file;  // Every choice of the solver has a kernel of it, and no other solver has.
};

// Sorted by solver. Left out are solvers whose file depends on the GPU, the type or the problem
// (Winograd, implicit GEMM), that compile several, or whose file another solver compiles, too.
std::span<const KernelSource> KnownKernelSources();

// Empty where it is not known.
std::string_view KernelSourceOf(std::string_view solver);

}  // namespace attune::miopen
