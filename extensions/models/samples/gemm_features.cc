#include "extensions/models/samples/gemm_features.h"

#include <algorithm>
#include <cmath>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

double Padded(double extent, double tile) { return std::ceil(extent / tile) * tile; }

// Traffic through a cache of `cache` bytes: each operand once if the smaller one stays in it, else
// the larger one once for each block of the smaller one that fits.
double TrafficBeyond(double larger, double smaller, double result, double cache) {
  const double passes = std::max(1.0, std::ceil(smaller / (cache / 2)));
  return larger * passes + smaller + 2 * result;
}

}  // namespace

FeatureSet GemmFeatures() {
  FeatureSet features;
  features.name = "gemm_cpu_1";
  features.operation = {"one",     "flops",  "bytes",      "padded_flops", "packed_bytes",
                        "c_bytes", "tiles",  "tile_steps", "beyond_l2",    "beyond_l3",
                        "m",       "n",      "k",          "smallest",     "largest",
                        "fill_m",  "fill_n", "intensity",  "footprint",    "matrix_vector",
                        "last_m",  "last_n", "k_of_8",     "aspect"};
  features.linear_operation = 10;
  return features;
}

FeatureRow GemmRow(const Gemm& gemm, const std::string& algorithm,
                   const ProcessorShape& processor) {
  const auto size = static_cast<double>(SizeBytes(gemm.type));
  const auto m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n);
  const auto k = static_cast<double>(gemm.k);
  const auto batch = static_cast<double>(std::max<int64_t>(1, gemm.batch_count));
  const auto rows = static_cast<double>(processor.tile_rows);
  const auto columns = static_cast<double>(processor.tile_columns);
  const double a = m * k * size;
  const double b = k * n * size;
  const double c = m * n * size;
  const double tiles = std::ceil(m / rows) * std::ceil(n / columns);
  const double per_thread =
      std::ceil(tiles * batch / static_cast<double>(std::max<int64_t>(1, processor.threads)));
  const double bytes = batch * (a + b + c);
  const double flops = batch * 2 * m * n * k;
  const auto beyond = [&](int64_t cache) {
    return batch * TrafficBeyond(std::max(a, b), std::min(a, b), c, static_cast<double>(cache));
  };
  return {algorithm,
          {1,
           flops,
           bytes,
           batch * 2 * Padded(m, rows) * Padded(n, columns) * k,
           batch * (a + b),
           batch * c,
           per_thread,
           per_thread * k,
           beyond(processor.level2_bytes),
           beyond(processor.level3_bytes),
           m,
           n,
           k,
           std::min({m, n, k}),
           std::max({m, n, k}),
           m / Padded(m, rows),
           n / Padded(n, columns),
           flops / bytes,
           a + b + c,
           std::min(m, n) == 1 ? 1.0 : 0.0,
           std::fmod(m, rows),
           std::fmod(n, columns),
           std::fmod(k, 8),
           m / n},
          {}};
}

}  // namespace attune
