// Kernel files with one field corrupted, for tests: how they are made, and what they change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attune/base/random.h"
#include "attune/problem/problem.h"
#include "attune/space/config.h"
#include "backends/opencl/kernel_file.h"

namespace attune::opencl {

// A shipped kernel file with one field changed.
struct KernelMutation {
  std::string file_name;  // In kernels/.
  nlohmann::json original;
  nlohmann::json::json_pointer place;
  nlohmann::json changed;

  std::string ChangedText() const;
};

// Of gemm_tiled, conv_im2col_gemm or conv_direct_filter, at a random place: left out, doubled, of
// another type, another number, or with another character.
KernelMutation RandomMutation(Random& random);

// Small problems that every operand and every launch of those files serves.
std::vector<Problem> MutationProblems();

// One thing that a file makes happen: what is compiled, launched and bound for a config.
struct KernelUse {
  Problem problem;
  Config config;
  std::string text;  // Of program and plan, or why there are none.
};

// Everything that `file` makes happen for MutationProblems() and a sample of its configs. Files
// with the same text of all uses are the same kernel as far as these problems go.
struct KernelEffect {
  std::string identity;  // Name, version and sources.
  std::vector<KernelUse> uses;
  std::string summary;  // How large its spaces are, and where it does not apply.

  bool SameAs(const KernelEffect& other) const;
};
KernelEffect EffectOf(const KernelFile& file);

// The first use of `changed` that `intact` does otherwise; nothing if there is none.
std::optional<KernelUse> FirstDifference(const KernelFile& changed, const KernelFile& intact);

}  // namespace attune::opencl
