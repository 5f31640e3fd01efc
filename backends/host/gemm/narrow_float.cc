#include "backends/host/gemm/narrow_float.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace attune::host {
namespace {

// A binary floating-point format with a sign bit.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // Otherwise the largest exponent holds numbers, and all ones is NaN.
};
constexpr Format kHalf{5, 10, true};
constexpr Format kBrain{8, 7, true};
constexpr Format kE4M3{4, 3, false};
constexpr Format kE5M2{5, 2, true};

template <Format kFormat>
double Decode(uint32_t bits) {
  constexpr int kBias = (1 << (kFormat.exponent_bits - 1)) - 1;
  constexpr uint32_t kMantissaMask = (1u << kFormat.mantissa_bits) - 1;
  constexpr uint32_t kExponentMask = (1u << kFormat.exponent_bits) - 1;
  const uint32_t mantissa = bits & kMantissaMask;
  const uint32_t exponent = bits >> kFormat.mantissa_bits & kExponentMask;
  const bool negative = (bits >> (kFormat.mantissa_bits + kFormat.exponent_bits) & 1) != 0;
  double value = 0;
  if (exponent == kExponentMask && kFormat.has_infinity) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == kExponentMask && mantissa == kMantissaMask) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - kBias - kFormat.mantissa_bits);
  } else {
    value = std::ldexp(mantissa | (kMantissaMask + 1),
                       static_cast<int>(exponent) - kBias - kFormat.mantissa_bits);
  }
  return negative ? -value : value;
}

// For formats with infinities. std::nearbyint rounds ties to even in the default mode.
template <Format kFormat>
uint16_t Encode(double value) {
  static_assert(kFormat.has_infinity);
  constexpr int kBias = (1 << (kFormat.exponent_bits - 1)) - 1;
  constexpr uint32_t kExponentMask = (1u << kFormat.exponent_bits) - 1;
  const uint32_t sign =
      std::signbit(value) ? 1u << (kFormat.exponent_bits + kFormat.mantissa_bits) : 0u;
  const uint32_t infinity = kExponentMask << kFormat.mantissa_bits;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | 1u);
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | infinity);
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // Units in the last place: those of the smallest normal number serve the subnormal ones.
  const int unit = std::max(exponent - 1, 1 - kBias) - kFormat.mantissa_bits;
  const double units = std::nearbyint(std::ldexp(magnitude, -unit));
  // Rounding up to the next power of two carries into the exponent by itself.
  const int64_t biased = unit + kFormat.mantissa_bits + kBias - 1;
  const int64_t bits = (biased << kFormat.mantissa_bits) + static_cast<int64_t>(units);
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::min<int64_t>(bits, infinity)));
}

template <class Stored>
Stored Load(const std::byte* from) {
  Stored stored;
  std::memcpy(&stored, from, sizeof(stored));
  return stored;
}

template <class Stored>
void Save(Stored stored, std::byte* to) {
  std::memcpy(to, &stored, sizeof(stored));
}

template <class Integer>
Integer Saturate(double value) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(value)) return 0;
  return static_cast<Integer>(std::clamp(std::nearbyint(value), static_cast<double>(Limits::min()),
                                         static_cast<double>(Limits::max())));
}

}  // namespace

double ReadElement(DataType type, const std::byte* from) {
  switch (type) {
    case DataType::kF64:
      return Load<double>(from);
    case DataType::kF32:
      return Load<float>(from);
    case DataType::kF16:
      return Decode<kHalf>(Load<uint16_t>(from));
    case DataType::kBf16:
      return Decode<kBrain>(Load<uint16_t>(from));
    case DataType::kI32:
      return Load<int32_t>(from);
    case DataType::kI8:
      return Load<int8_t>(from);
    case DataType::kF8E4M3:
      return Decode<kE4M3>(Load<uint8_t>(from));
    case DataType::kF8E5M2:
      return Decode<kE5M2>(Load<uint8_t>(from));
  }
  return 0;
}

void ReadElements(DataType type, const std::byte* from, int64_t step, int64_t count, double* to) {
  // The common types without a switch for every element.
  if (type == DataType::kF32) {
    const auto* elements = reinterpret_cast<const float*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = elements[i * step];
  } else if (type == DataType::kF64) {
    const auto* elements = reinterpret_cast<const double*>(from);
    for (int64_t i = 0; i < count; ++i) to[i] = elements[i * step];
  } else {
    const int64_t step_bytes = step * static_cast<int64_t>(SizeBytes(type));
    for (int64_t i = 0; i < count; ++i) to[i] = ReadElement(type, from + i * step_bytes);
  }
}

void WriteElement(DataType type, double value, std::byte* to) {
  switch (type) {
    case DataType::kF64:
      return Save(value, to);
    case DataType::kF32:
      return Save(static_cast<float>(value), to);
    case DataType::kF16:
      return Save(Encode<kHalf>(value), to);
    case DataType::kBf16:
      return Save(Encode<kBrain>(value), to);
    case DataType::kI32:
      return Save(Saturate<int32_t>(value), to);
    case DataType::kI8:
      return Save(Saturate<int8_t>(value), to);
    case DataType::kF8E4M3:
    case DataType::kF8E5M2:
      break;
  }
  assert(false && "8-bit floats are inputs only");
}

}  // namespace attune::host
