// Samples of made-up kernels with known times, for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attune/base/random.h"
#include "attune/model/feature_row.h"

namespace attune {

inline FeatureSet SampleFeatures() {
  return {
      "sample_1", {"one", "flops", "bytes", "extent"}, {"one", "work", "traffic", "tile"}, 3, 3};
}

// A kernel of `signature` that takes 0.01 + work / 1000 + traffic / 500 ms.
inline double SampleKernelMs(const KernelRow& kernel) {
  return 0.01 + kernel.values[1] / 1000 + kernel.values[2] / 500;
}

// `configurations` problems, each by the algorithms "a" (one kernel) and "b" (two kernels). Times
// are exact but for a factor of e^(noise * u), u uniform in [-1, 1).
inline std::vector<Sample> SampleTimes(uint64_t configurations, double noise, uint64_t seed) {
  Random random(seed);
  std::vector<Sample> samples;
  for (uint64_t i = 0; i < configurations; ++i) {
    const double work = std::exp(1 + 7 * random.Uniform());
    const double traffic = std::exp(1 + 5 * random.Uniform());
    for (const std::string algorithm : {"a", "b"}) {
      Sample sample;
      sample.row.algorithm = algorithm;
      sample.row.values = {1, work, traffic, std::floor(std::cbrt(work))};
      sample.row.kernels.push_back({"gemm_64x64 " + algorithm, {1, work, traffic, 64}});
      if (algorithm == "b") sample.row.kernels.push_back({"reduce", {1, traffic, work / 50, 0}});
      for (const KernelRow& kernel : sample.row.kernels) {
        const double factor = std::exp(noise * (2 * random.Uniform() - 1));
        sample.kernel_times_ms.push_back(SampleKernelMs(kernel) * factor);
        sample.time_ms += sample.kernel_times_ms.back();
      }
      sample.configuration = i;
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

}  // namespace attune
