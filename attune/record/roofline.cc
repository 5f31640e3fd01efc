// RooflineSeconds: the bound that arithmetic and memory set. RatesOf: the rates that a time
// reaches.
#include <algorithm>

#include "attune/record/select.h"

namespace attune {
namespace {

// The peak that bounds the multiplications of `problem`, in operations per second; 0 if none was
// measured for its type. Narrow types and relaxed math run faster than f32 by a factor that differs
// from machine to machine, so the f32 peak would be no bound for them.
double PeakFlops(const Problem& problem, const Peaks& peaks) {
  const int64_t type = FieldOr(problem, kTypeField, -1);
  if (FieldOr(problem, kMathField, 0) != static_cast<int64_t>(MathMode::kStrict)) return 0;
  if (type == static_cast<int64_t>(DataType::kF64)) return peaks.f64_flops;
  return type == static_cast<int64_t>(DataType::kF32) ? peaks.f32_flops : 0;
}

}  // namespace

Peaks HighestOf(const Peaks& a, const Peaks& b) {
  return {std::max(a.f32_flops, b.f32_flops), std::max(a.f64_flops, b.f64_flops),
          std::max(a.bytes_per_second, b.bytes_per_second)};
}

Rates RatesOf(const Problem& problem, double time_ns) {
  if (!(time_ns > 0)) return {};
  return {Flops(problem) / time_ns * 1e9, CompulsoryBytes(problem) / time_ns * 1e9};
}

double RooflineSeconds(const Problem& problem, const Peaks& peaks) {
  if (problem.op().IsMemoryBound()) {
    return peaks.bytes_per_second > 0 ? CompulsoryBytes(problem) / peaks.bytes_per_second : 0;
  }
  const double peak_flops = PeakFlops(problem, peaks);
  if (!(peak_flops > 0) || !(peaks.bytes_per_second > 0)) return 0;
  return std::max(Flops(problem) / peak_flops, CompulsoryBytes(problem) / peaks.bytes_per_second);
}

bool IsBoundByArithmetic(const Problem& problem, const Peaks& peaks) {
  if (problem.op().IsMemoryBound()) return false;
  const double peak_flops = PeakFlops(problem, peaks);
  return peak_flops > 0 && peaks.bytes_per_second > 0 &&
         Flops(problem) / peak_flops >= CompulsoryBytes(problem) / peaks.bytes_per_second;
}

}  // namespace attune
