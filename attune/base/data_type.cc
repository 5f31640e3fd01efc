#include "attune/base/data_type.h"

#include <array>
#include <cassert>
#include <iterator>

namespace attune {
namespace {

struct TypeTraits {
  DataType type;
  std::string_view name;
  size_t size_bytes;
  double unit_roundoff;
};

// In the order of the enumeration.
constexpr TypeTraits kTypes[] = {
    {DataType::kF64, "f64", 8, 0x1p-53},
    {DataType::kF32, "f32", 4, 0x1p-24},
    {DataType::kF16, "f16", 2, 0x1p-11},
    {DataType::kBf16, "bf16", 2, 0x1p-8},
    {DataType::kI32, "i32", 4, 0},
    {DataType::kI8, "i8", 1, 0},
    {DataType::kF8E4M3, "f8e4m3", 1, 0x1p-4},
    {DataType::kF8E5M2, "f8e5m2", 1, 0x1p-3},
};

const TypeTraits& TraitsOf(DataType type) {
  const auto index = static_cast<size_t>(type);
  assert(index < std::size(kTypes) && kTypes[index].type == type);
  return kTypes[index];
}

constexpr std::string_view kMathModeNames[] = {"strict", "tf32", "bf16"};

}  // namespace

std::string_view Name(DataType type) { return TraitsOf(type).name; }

std::optional<DataType> ParseDataType(std::string_view name) {
  for (const TypeTraits& traits : kTypes) {
    if (traits.name == name) return traits.type;
  }
  return std::nullopt;
}

size_t SizeBytes(DataType type) { return TraitsOf(type).size_bytes; }

double UnitRoundoff(DataType type) { return TraitsOf(type).unit_roundoff; }

std::span<const std::string_view> DataTypeNames() {
  static constexpr auto names = [] {
    std::array<std::string_view, std::size(kTypes)> result;
    for (size_t i = 0; i < result.size(); ++i) result[i] = kTypes[i].name;
    return result;
  }();
  return names;
}

std::span<const std::string_view> MathModeNames() { return kMathModeNames; }

std::string_view Name(MathMode mode) { return kMathModeNames[static_cast<size_t>(mode)]; }

std::optional<MathMode> ParseMathMode(std::string_view name) {
  for (size_t i = 0; i < std::size(kMathModeNames); ++i) {
    if (kMathModeNames[i] == name) return static_cast<MathMode>(i);
  }
  return std::nullopt;
}

}  // namespace attune
