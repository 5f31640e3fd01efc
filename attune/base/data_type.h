// Element types, and how much precision a computation over them may give away.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace attune {

enum class DataType { kF64, kF32, kF16, kBf16, kI32, kI8, kF8E4M3, kF8E5M2 };

// "f64", "f32", "f16", "bf16", "i32", "i8", "f8e4m3", "f8e5m2": the text of files and command
// lines.
std::string_view Name(DataType type);
std::optional<DataType> ParseDataType(std::string_view name);

std::span<const std::string_view> DataTypeNames();  // In the order of the enumeration.

size_t SizeBytes(DataType type);

// Unit round-off of one rounding to `type` (2^-24 for f32); 0 for integers.
double UnitRoundoff(DataType type);

// Permitted changes of the inputs before a solver multiplies. A faster mode is another problem,
// never a faster answer to the same one.
enum class MathMode {
  // Products of the inputs as stored, accumulated in f32 or wider; those of f8 in 13 bits over some
  // 128 terms and then in f32, because tensor cores have no other way ("strict").
  kStrict,
  kTf32,  // f32 inputs may be rounded to 10 bits of mantissa ("tf32").
  kBf16,  // f32 inputs may be rounded to bf16 ("bf16").
};
std::string_view Name(MathMode mode);
std::optional<MathMode> ParseMathMode(std::string_view name);
std::span<const std::string_view> MathModeNames();

}  // namespace attune
