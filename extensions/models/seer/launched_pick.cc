#include "extensions/models/seer/launched_pick.h"

#include <array>

#include <fmt/format.h>

namespace attune::seer {
namespace {

// True if the failure of one algorithm concerns that algorithm alone.
bool IsOfTheAlgorithm(const Status& failure) {
  return failure.code() == StatusCode::kUnsupported ||
         failure.code() == StatusCode::kResourceExhausted;
}

}  // namespace

const std::string& SolverAlgorithmName(int algorithm) {
  static const std::array<std::string, kAlgorithms> kNames = {
      "implicit_gemm", "implicit_precomp_gemm", "gemm", "", "fft", "fft_tiling",
      "winograd",      "winograd_nonfused"};
  return kNames[static_cast<size_t>(algorithm)];
}

Result<int> LaunchedPick(const LaunchesByName& launches_of) {
  const auto first = launches_of(std::string(kFirstAlgorithm));
  if (!first.ok()) {
    return first.error().WithContext("What cuDNN's heuristic answers cannot be launched");
  }
  for (int i = 0; i < kAlgorithms; ++i) {
    const std::string& name = SolverAlgorithmName(i);
    if (name.empty()) continue;
    const auto launches = launches_of(name);
    if (launches.ok() && *launches == *first) return i;
    if (!launches.ok() && !IsOfTheAlgorithm(launches.error())) {
      return launches.error().WithContext(fmt::format("Algorithm {} cannot be asked", i));
    }
  }
  std::string kernels;
  for (const ObservedLaunch& launch : *first) {
    kernels += fmt::format("{}'{}'", kernels.empty() ? "" : ", ", launch.name);
  }
  return Unsupported(
      fmt::format("None of cuDNN's algorithms launches what its heuristic's answer launches ({}).",
                  kernels.empty() ? "no kernel" : kernels));
}

}  // namespace attune::seer
