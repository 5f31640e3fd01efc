// Elements of floating-point types as bytes: what f16 and bf16 mean, without hardware support for
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/problem/data_type.h"

namespace attune {

// f64, f32, f16 and bf16: the types that this module can generate and check.
bool IsCheckable(DataType type);

// Bit patterns to values; subnormals, infinities and NaN included.
float FloatFromF16(uint16_t bits);
float FloatFromBf16(uint16_t bits);
// Round to nearest, ties to even; overflow gives infinity.
uint16_t Bf16FromFloat(float value);
uint16_t F16FromFloat(float value);

// All elements of `bytes`, exactly. REQUIRES: IsCheckable(type), bytes.size() is values.size()
// elements.
void Decode(DataType type, std::span<const std::byte> bytes, std::span<double> values);

// `value` rounded to `type`, at `to`. REQUIRES: IsCheckable(type).
void Encode(DataType type, double value, std::byte* to);

// Fills elements [first, first + count) of an operand that starts at `operand` with numbers uniform
// in
// [-1, 1], never zero, exact in `type`. Element i depends on `seed` and i alone, so that threads
// and overlapping matrices agree. REQUIRES: IsCheckable(type).
void GenerateElements(DataType type, uint64_t seed, int64_t first, int64_t count,
                      std::byte* operand);

}  // namespace attune
