#include "extensions/miopen/databases/kernel_source.h"

#include <algorithm>
#include <iterator>

namespace attune::miopen {
namespace {

// From the sources of MIOpen up to 3.3, unchanged since these solvers exist.
constexpr KernelSource kSources[] = {
    {"ConvAsm1x1U", "conv1x1u.s"},
    {"ConvAsm1x1UV2", "conv1x1u_stride2.s"},
    {"ConvAsm3x3U", "conv3x3.s"},
    {"ConvAsm5x10u2v2b1", "conv5x10u2v2b1.s"},
    {"ConvAsm5x10u2v2f1", "conv5x10u2v2f1.s"},
    {"ConvAsm7x7c3h224w224k64u2v2p3q3f1", "conv7x7c3h224w224k64u2v2p3q3f1.s"},
    {"ConvAsmBwdWrW1x1", "conv1x1wrw.s"},
    {"ConvAsmBwdWrW3x3", "conv3x3wrw.s"},
};

}  // namespace

std::span<const KernelSource> KnownKernelSources() { return kSources; }

std::string_view KernelSourceOf(std::string_view solver) {
  const auto* const found =
      std::find_if(std::begin(kSources), std::end(kSources),
                   [solver](const KernelSource& each) { return each.solver == solver; });
  return found == std::end(kSources) ? std::string_view() : found->file;
}

}  // namespace attune::miopen
