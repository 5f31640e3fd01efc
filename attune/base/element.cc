#include "attune/base/element.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

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

// The layout of an f8 type: a sign, exponents with a bias, a mantissa, and the largest number.
struct ByteFormat {
  int mantissa_bits;
  int bias;
  uint32_t largest;
};
constexpr ByteFormat kE4M3{3, 7, 0x7e};   // 448; 0x7f is NaN, there is no infinity.
constexpr ByteFormat kE5M2{2, 15, 0x7b};  // 57344.
constexpr uint32_t kByteNan = 0x7f;

template <ByteFormat kFormat>
uint8_t ByteFromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint8_t>(sign | kByteNan);
  constexpr int kShift = 23 - kFormat.mantissa_bits;
  constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(127 + 1 - kFormat.bias) << 23;
  uint32_t number = 0;
  if (magnitude < kSmallestNormal) {
    // Subnormal: added to a power of two whose last place is theirs, the hardware rounds there.
    constexpr uint32_t kAligned = kSmallestNormal + (static_cast<uint32_t>(kShift) << 23);
    const float aligned = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kAligned);
    number = std::bit_cast<uint32_t>(aligned) - kAligned;
  } else {
    const uint32_t half = (1u << (kShift - 1)) - 1 + (magnitude >> kShift & 1u);
    constexpr uint32_t kExponent = static_cast<uint32_t>(127 - kFormat.bias) << 23;
    number = (magnitude + half - kExponent) >> kShift;
  }
  return static_cast<uint8_t>(sign | std::min(number, kFormat.largest));
}

// No subnormals, as with halves.
template <ByteFormat kFormat>
uint8_t UniformByte(uint64_t random) {
  constexpr uint32_t kSmallest = static_cast<uint32_t>(127 + 1 - kFormat.bias) << 23;
  const float value = UniformFloat(random);
  const float magnitude = std::max(std::abs(value), std::bit_cast<float>(kSmallest));
  return ByteFromFloat<kFormat>(std::copysign(magnitude, value));
}

inline int8_t UniformI8(uint64_t random) {
  const auto value = static_cast<int8_t>(random >> 56);
  return value != 0 ? value : int8_t{1};
}

// 21 random bits, the lowest set, with a sign.
inline int32_t UniformAddend(uint64_t random) {
  const auto magnitude = static_cast<int32_t>(random >> 43) | 1;
  return (random & 1) != 0 ? -magnitude : magnitude;
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

bool IsInteger(DataType type) { return type == DataType::kI8 || type == DataType::kI32; }

bool IsCheckable(DataType type) {
  return type == DataType::kF64 || type == DataType::kF32 || type == DataType::kF16 ||
         type == DataType::kBf16 || type == DataType::kI32;
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

// The upper half of an f16.
float FloatFromF8E5M2(uint8_t bits) { return FloatFromF16(static_cast<uint16_t>(bits << 8)); }

float FloatFromF8E4M3(uint8_t bits) {
  const uint32_t magnitude = bits & 0x7fu;
  const float sign = (bits & 0x80u) != 0 ? -1.0f : 1.0f;
  if (magnitude == kByteNan) return std::numeric_limits<float>::quiet_NaN();
  // As the exponent and mantissa of an f16, whose bias is larger by 8.
  return sign * 0x1p8f * FloatFromF16(static_cast<uint16_t>(magnitude << 7));
}

uint8_t F8E4M3FromFloat(float value) { return ByteFromFloat<kE4M3>(value); }
uint8_t F8E5M2FromFloat(float value) { return ByteFromFloat<kE5M2>(value); }

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
  assert(bytes.size() == values.size() * SizeBytes(type));
  switch (type) {
    case DataType::kF64:
      return DecodeAs<double>(bytes, values, [](double raw) { return raw; });
    case DataType::kF32:
      return DecodeAs<float>(bytes, values, [](float raw) { return raw; });
    case DataType::kF16:
      return DecodeAs<uint16_t>(bytes, values, [](uint16_t raw) { return FloatFromF16(raw); });
    case DataType::kF8E4M3:
      return DecodeAs<uint8_t>(bytes, values, [](uint8_t raw) { return FloatFromF8E4M3(raw); });
    case DataType::kF8E5M2:
      return DecodeAs<uint8_t>(bytes, values, [](uint8_t raw) { return FloatFromF8E5M2(raw); });
    case DataType::kI32:
      return DecodeAs<int32_t>(bytes, values, [](int32_t raw) { return raw; });
    case DataType::kI8:
      return DecodeAs<int8_t>(bytes, values, [](int8_t raw) { return raw; });
    case DataType::kBf16:
      return DecodeAs<uint16_t>(bytes, values, [](uint16_t raw) { return FloatFromBf16(raw); });
  }
}

double DecodeElement(DataType type, const std::byte* bytes, int64_t i) {
  const size_t element_bytes = SizeBytes(type);
  double value = 0;
  Decode(type, {bytes + static_cast<size_t>(i) * element_bytes, element_bytes}, {&value, 1});
  return value;
}

void Encode(DataType type, double value, std::byte* to) {
  const auto save = [to](auto element) { std::memcpy(to, &element, sizeof(element)); };
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case DataType::kF64:
      return save(value);
    case DataType::kF32:
      return save(narrow);
    case DataType::kF16:
      return save(F16FromFloat(narrow));
    case DataType::kF8E4M3:
      return save(F8E4M3FromFloat(narrow));
    case DataType::kF8E5M2:
      return save(F8E5M2FromFloat(narrow));
    case DataType::kI32:
      return save(static_cast<int32_t>(std::lrint(value)));
    case DataType::kI8:
      return save(static_cast<int8_t>(std::lrint(value)));
    case DataType::kBf16:
      return save(Bf16FromFloat(narrow));
  }
}

void GenerateElements(DataType type, uint64_t seed, int64_t first, int64_t count,
                      std::byte* operand) {
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
    case DataType::kF8E4M3:
      return Generate<uint8_t>(seed, first, count, operand,
                               [](uint64_t random) { return UniformByte<kE4M3>(random); });
    case DataType::kF8E5M2:
      return Generate<uint8_t>(seed, first, count, operand,
                               [](uint64_t random) { return UniformByte<kE5M2>(random); });
    case DataType::kI32:
      return Generate<int32_t>(seed, first, count, operand,
                               [](uint64_t random) { return UniformAddend(random); });
    case DataType::kI8:
      return Generate<int8_t>(seed, first, count, operand,
                              [](uint64_t random) { return UniformI8(random); });
    case DataType::kBf16:
      return Generate<uint16_t>(seed, first, count, operand, [](uint64_t random) {
        return Bf16FromFloat(UniformFloat(random));
      });
  }
}

}  // namespace attune
