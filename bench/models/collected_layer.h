// A convolution with every way to compute it that was timed on a GPU, as a line of JSON:
// `cuda_conv_times` writes it and `models --collected` reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/launch_profile.h"
#include "attune/problem/problem.h"

namespace attune::bench {

inline constexpr size_t kMostKernels = 12;

struct CollectedCandidate {
  std::string candidate;  // Its text.
  double time_ms = 0;     // One call, the median of blocks of calls; 0: it failed.
  // How many kernels a dry run saw; 0 where the call cannot be captured.
  int64_t kernels = 0;
  // All of them; empty if there are more than kMostKernels, which are FFTs of many tiles.
  std::vector<KernelLaunch> launches;
};

struct CollectedLayer {
  std::string device;  // As it names itself.
  int64_t multiprocessors = 0;
  std::string library;  // "cudnn 9.19.0"
  Problem problem;
  std::vector<CollectedCandidate> candidates;
  // The answers of the vendor's heuristics, by heuristic.
  std::map<std::string, CollectedCandidate> heuristics;
};

// Without a line end.
std::string LineOf(const CollectedLayer& layer);
// kInvalidArgument, with the mistake, for anything that LineOf() does not write.
Result<CollectedLayer> ParseCollectedLayer(std::string_view line);

}  // namespace attune::bench
