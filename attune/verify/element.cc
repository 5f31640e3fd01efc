#include "attune/verify/element.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace attune {
namespace {

// SplitMix64's output function: counter `i` of stream `seed`.
inline uint64_t Mix(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// 24 random bits, the lowest set so that the value is not zero, with a sign. The sign is not chosen
// by a branch: it would be mispredicted half of the time, which costs five times the rest.
inline float UniformFloat(uint64_t random) {
  const auto magnitude = static_cast<float>(static_cast<int32_t>(random >> 40) | 1) * 0x1p-24f;
  const auto sign = static_cast<uint32_t>(random) << 31;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

inline double UniformDouble(uint64_t random) {
  const auto magnitude = static_cast<double>(static_cast<int64_t>(random >> 11) | 1) * 0x1p-53;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) | random << 63);
}

// Below 2^-14 halves are subnormal, which some hardware flushes to zero: no smaller than 2^-12.
inline uint16_t UniformF16(uint64_t random) {
  const float value = UniformFloat(random);
  const float magnitude = std::max(std::abs(value), 0x1p-12f);
  return F16FromFloat(std::copysign(magnitude, value));
}

// `make` is a lambda, not a function pointer, so that it is inlined.
template <class T, class Make>
void Generate(uint64_t seed, int64_t first, int64_t count, std::byte* operand, Make make) {
  std::byte* to = operand + static_cast<size_t>(first) * sizeof(T);
  for (int64_t i = 0; i < count; ++i) {
    const T value = make(Mix(seed, static_cast<uint64_t>(first + i)));
    std::memcpy(to + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

template <class T, class Convert>
void DecodeAs(std::span<const std::byte> bytes, std::span<double> values, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    T raw;
    std::memcpy(&raw, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(convert(raw));
  }
}

}  // namespace

bool IsCheckable(DataType type) {
  return type == DataType::kF64 || type == DataType::kF32 || type == DataType::kF16 ||
         type == DataType::kBf16;
}

float FloatFromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float FloatFromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide_exponent = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13);
}

uint16_t Bf16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

uint16_t F16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  // 65520 is halfway between the largest half (65504) and the next power of two: it rounds to
  // infinity.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 1/2 aligns the binary point so that the hardware rounds at 2^-24.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

void Decode(DataType type, std::span<const std::byte> bytes, std::span<double> values) {
  assert(IsCheckable(type) && bytes.size() == values.size() * SizeBytes(type));
  switch (type) {
    case DataType::kF64:
      return DecodeAs<double>(bytes, values, [](double raw) { return raw; });
    case DataType::kF32:
      return DecodeAs<float>(bytes, values, [](float raw) { return raw; });
    case DataType::kF16:
      return DecodeAs<uint16_t>(bytes, values, [](uint16_t raw) { return FloatFromF16(raw); });
    default:
      return DecodeAs<uint16_t>(bytes, values, [](uint16_t raw) { return FloatFromBf16(raw); });
  }
}

void Encode(DataType type, double value, std::byte* to) {
  assert(IsCheckable(type));
  const auto narrow = static_cast<float>(value);
  const uint16_t half = type == DataType::kF16 ? F16FromFloat(narrow) : Bf16FromFloat(narrow);
  switch (type) {
    case DataType::kF64:
      std::memcpy(to, &value, sizeof(value));
      return;
    case DataType::kF32:
      std::memcpy(to, &narrow, sizeof(narrow));
      return;
    default:
      std::memcpy(to, &half, sizeof(half));
      return;
  }
}

void GenerateElements(DataType type, uint64_t seed, int64_t first, int64_t count,
                      std::byte* operand) {
  assert(IsCheckable(type));
  switch (type) {
    case DataType::kF64:
      return Generate<double>(seed, first, count, operand,
                              [](uint64_t random) { return UniformDouble(random); });
    case DataType::kF32:
      return Generate<float>(seed, first, count, operand,
                             [](uint64_t random) { return UniformFloat(random); });
    case DataType::kF16:
      return Generate<uint16_t>(seed, first, count, operand,
                                [](uint64_t random) { return UniformF16(random); });
    default:
      return Generate<uint16_t>(seed, first, count, operand, [](uint64_t random) {
        return Bf16FromFloat(UniformFloat(random));
      });
  }
}

}  // namespace attune
