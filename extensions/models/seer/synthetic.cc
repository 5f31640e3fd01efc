#include "extensions/models/seer/synthetic.h"

#include <cmath>

#include "attune/base/random.h"
#include "attune/model/least_squares.h"

namespace attune::seer {
KernelClass KnownKernel::ClassAt(const Layer& layer) const {
  if (layer.c < 40) return KernelClass::kDram;
  return layer.w < 60 ? KernelClass::kUnderUtilised : KernelClass::kCompute;
}

std::vector<KernelRecord> MakeRecords(const Variant& variant, const KnownKernel& kernel,
                                      const std::vector<Layer>& layers, double noise,
                                      uint64_t seed) {
  Random random(seed);
  std::vector<KernelRecord> records;
  for (const Layer& layer : layers) {
    if (variant.filter != 0 && layer.f != variant.filter) continue;
    const bool is_gemm = variant.kind == TileKind::kGemm;
    const auto q = static_cast<double>(layer.f * layer.f * layer.c);
    KernelRecord x;
    x.layer = layer;
    x.algorithm = variant.algorithm;
    x.blocks = BlocksOf(variant, layer, Rules::kFixed);
    x.resident_blocks = static_cast<double>(variant.resident_per_processor) * kernel.processors;
    x.waves = std::ceil(x.blocks / x.resident_blocks);
    const double term = is_gemm ? q : std::ceil(static_cast<double>(layer.c) / 8);
    x.instructions = x.blocks * (kernel.instructions_slope * term + kernel.instructions_offset);
    const double scale = is_gemm ? q : static_cast<double>(layer.c);
    x.read_sectors = x.blocks * scale * (layer.k < 100 ? 12 : 5);
    x.write_sectors = x.blocks * (layer.k < 100 ? 96 : 224);
    const KernelClass kernel_class = kernel.ClassAt(layer);
    x.fp_utilisation = kernel_class == KernelClass::kCompute ? 9 : 3;
    x.dram_utilisation = kernel_class == KernelClass::kDram ? 8 : 2;
    const std::vector<double> terms = TimeTerms(kernel_class, CountsOf(x));
    const std::span<const double> coefficients =
        kernel_class == KernelClass::kCompute ? std::span<const double>(kernel.compute)
        : kernel_class == KernelClass::kDram  ? std::span<const double>(kernel.dram)
                                              : std::span<const double>(kernel.under_utilised);
    x.time_ms = Dot(coefficients, terms) * std::exp(noise * (2 * random.Uniform() - 1));
    records.push_back(x);
  }
  return records;
}

std::vector<TimedLayer> MakeTimes(std::vector<double> (*terms)(const Layer&, Rules), Rules rules,
                                  const std::vector<double>& coefficients,
                                  const std::vector<Layer>& layers) {
  std::vector<TimedLayer> times;
  for (const Layer& layer : layers) {
    times.push_back({layer, Dot(coefficients, terms(layer, rules))});
  }
  return times;
}

}  // namespace attune::seer
