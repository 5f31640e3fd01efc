// GEMMs with made-up times, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attune/base/random.h"
#include "attune/index/record_samples.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {

// That many GEMMs with sides from 8 to 127, each by the candidates with these ms for a thousandth
// of 2^20 operations, and a constant.
inline std::vector<TimedCandidate> TimedProducts(
    int count, const std::vector<std::pair<std::string, double>>& speeds) {
  Random random(1);
  const auto side = [&] { return 8 + static_cast<int64_t>(random.Below(120)); };
  std::vector<TimedCandidate> timed;
  for (int i = 0; i < count; ++i) {
    const int64_t m = side(), n = side(), k = side();
    const Problem problem = Normalized(PackedGemm(m, n, k));
    for (const auto& [candidate, ms] : speeds) {
      timed.push_back({problem, candidate, ms * (1e-3 + Flops(problem) / (1 << 20) / 1000)});
    }
  }
  return timed;
}

}  // namespace attune
