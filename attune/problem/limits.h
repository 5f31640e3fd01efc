// Bounds that every problem keeps, and the checks that report them.
#pragma once

#include <cstdint>
#include <string_view>

#include "attune/base/data_type.h"
#include "attune/base/status.h"

namespace attune {

inline constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxOperandElements = (int64_t{1} << 40) - 1;
inline constexpr int kMaxAlignmentBytes = 4096;

// `field` of `op` is in [low, high].
Status CheckRange(std::string_view op, std::string_view field, int64_t value, int64_t low,
                  int64_t high);

// A power of two from the size of `widest` to kMaxAlignmentBytes.
Status CheckAlignment(std::string_view op, int alignment_bytes, DataType widest);

// Only f32 has a mode other than strict.
Status CheckMathMode(std::string_view op, MathMode math, DataType type);

}  // namespace attune
