// Elements of every type as bytes: values of f16, bf16 and f8 without hardware support for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/base/data_type.h"

namespace attune {

// i8 and i32, whose results are exact.
bool IsInteger(DataType type);
// f64, f32, f16, bf16 and i32: types of results that can be checked.
bool IsCheckable(DataType type);

// Bit patterns to values; subnormals, infinities and NaN included.
float FloatFromF16(uint16_t bits);
float FloatFromBf16(uint16_t bits);
float FloatFromF8E4M3(uint8_t bits);
float FloatFromF8E5M2(uint8_t bits);
// Round to nearest, ties to even; overflow gives infinity, and in f8 the largest number, as
// conversions of GPUs do.
uint16_t Bf16FromFloat(float value);
uint16_t F16FromFloat(float value);
uint8_t F8E4M3FromFloat(float value);
uint8_t F8E5M2FromFloat(float value);

// All elements of `bytes`, exactly. REQUIRES: bytes.size() is values.size() elements.
void Decode(DataType type, std::span<const std::byte> bytes, std::span<double> values);

// Element `i` of `bytes`, exactly.
double DecodeElement(DataType type, const std::byte* bytes, int64_t i);

// `value` rounded to `type`, at `to`. REQUIRES: an integer type holds it.
void Encode(DataType type, double value, std::byte* to);

// Fills elements [first, first + count) of an operand that starts at `operand` with numbers that
// are never zero and exact in `type`: uniform in [-1, 1]; of i8 in all of its range; of i32, which
// is added to sums of products of those and must leave them room, in [-2^21, 2^21]. Element i
// depends on `seed` and i alone, so that threads and overlapping matrices agree.
void GenerateElements(DataType type, uint64_t seed, int64_t first, int64_t count,
                      std::byte* operand);

}  // namespace attune
