// The source file of a solver's kernel, where that is certain.
#pragma once

#include <span>
#include <string_view>

namespace attune::miopen {

struct KernelSource {
  std::string_view solver;
  std::string_view file;  // Unique to the solver; in every choice.
};

// Sorted by solver. Omits solvers that compile several files or one shared with another solver, and
// those with a file that depends on the GPU, the type or the problem (Winograd, implicit GEMM).
std::span<const KernelSource> KnownKernelSources();

// Empty if unknown.
std::string_view KernelSourceOf(std::string_view solver);

}  // namespace attune::miopen
