// Common arithmetic, for which kernels are compiled at installation.
#pragma once

#include "attune/base/data_type.h"

namespace attune {

struct Arithmetic {
  DataType type;
  MathMode math;
};
inline constexpr Arithmetic kEverydayArithmetics[] = {{DataType::kF32, MathMode::kStrict},
                                                      {DataType::kF32, MathMode::kTf32},
                                                      {DataType::kF64, MathMode::kStrict},
                                                      {DataType::kF16, MathMode::kStrict},
                                                      {DataType::kBf16, MathMode::kStrict}};

}  // namespace attune
