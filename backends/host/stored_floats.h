// Element types of tensors that kernels load to f32 and store from f32. All functions are inlined,
// so they compile for the instruction set of the caller.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace attune::host {

struct F32 {
  using Stored = float;
  [[gnu::always_inline]] static float Load(float value) { return value; }
  [[gnu::always_inline]] static float Store(float value) { return value; }
};

struct Bf16 {
  using Stored = uint16_t;
  [[gnu::always_inline]] static float Load(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
  // To nearest, ties to even; a NaN stays one.
  [[gnu::always_inline]] static uint16_t Store(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<uint16_t>(value != value ? bits >> 16 | 0x40 : rounded);
  }
};

// Multiplication and addition of floats do the rounding (Giesen, "float->half
// variants", 2016).
struct F16 {
  using Stored = uint16_t;
  [[gnu::always_inline]] static float Load(uint16_t half) {
    const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
    const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
    uint32_t bits = std::bit_cast<uint32_t>(value);
    bits |= value >= 65536.0f ? 0x7f800000u : 0u;
    return std::bit_cast<float>(bits | static_cast<uint32_t>(half & 0x8000) << 16);
  }
  [[gnu::always_inline]] static uint16_t Store(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t bits = all & 0x7fffffff;
    // 65536 becomes infinity. Numbers below 2^-14 have the unit of 2^-14.
    const uint32_t bounded = std::min(bits, 0x47800000u);
    const uint32_t exponent = std::max(bounded & 0x7f800000, 0x38800000u);
    // A sum with 2^13 times the power of two has the 11 bits at its end.
    const uint32_t power = exponent + (13u << 23);
    const float sum = std::bit_cast<float>(bounded) + std::bit_cast<float>(power);
    const uint32_t rounded = std::bit_cast<uint32_t>(sum) - power;
    const uint32_t half = rounded + (exponent >> 13) - (113u << 10);
    const uint32_t sign = all >> 16 & 0x8000;
    return static_cast<uint16_t>((bits > 0x7f800000u ? 0x7e00u : half) | sign);
  }
};

}  // namespace attune::host
