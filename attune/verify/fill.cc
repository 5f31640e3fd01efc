#include "attune/verify/fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attune/base/element.h"
#include "attune/base/random.h"

namespace attune {
namespace {

// A separate stream for each element.
Random StreamOf(uint64_t seed, int64_t index) {
  Random mixed(seed ^ (static_cast<uint64_t>(index) * 0x9E3779B97F4A7C15ull));
  return Random(mixed.Next());
}

double ValueOf(const BufferFill& fill, DataType type, uint64_t seed, int64_t index) {
  Random random = StreamOf(seed, index);
  switch (fill.kind) {
    case BufferFill::Kind::kUniform: {
      if (!IsInteger(type)) return fill.first + (fill.second - fill.first) * random.Uniform();
      const double low = std::ceil(fill.first);
      return std::min(low + std::floor(random.Uniform() * (std::floor(fill.second) - low + 1)),
                      std::floor(fill.second));
    }
    case BufferFill::Kind::kNormal: {
      // Box and Muller; 1 - u is never 0.
      const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
      const double angle = 2 * std::numbers::pi * random.Uniform();
      return fill.first + fill.second * radius * std::cos(angle);
    }
    case BufferFill::Kind::kConstant:
      return fill.first;
    case BufferFill::Kind::kIota:
      return fill.first + fill.second * static_cast<double>(index);
    case BufferFill::Kind::kFile:
      return 0;
  }
  return 0;
}

double Saturated(DataType type, double value) {
  if (type == DataType::kI32) {
    return std::clamp<double>(value, std::numeric_limits<int32_t>::min(),
                              std::numeric_limits<int32_t>::max());
  }
  if (type == DataType::kI8) return std::clamp<double>(value, -128, 127);
  return value;
}

}  // namespace

void FillElements(const BufferFill& fill, DataType type, uint64_t seed, FillSlice slice,
                  std::byte* memory) {
  const auto element_bytes = static_cast<int64_t>(SizeBytes(type));
  for (int64_t i = slice.first; i < slice.first + slice.count; ++i) {
    Encode(type, Saturated(type, ValueOf(fill, type, seed, i)), memory + i * element_bytes);
  }
}

}  // namespace attune
