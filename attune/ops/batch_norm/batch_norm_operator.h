// The parts of the operator batch_norm. Private to this folder.
#pragma once

#include <string_view>
#include <vector>

#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/driver_line.h"
#include "attune/problem/reference.h"

namespace attune {

// The scalars that batch norms are measured and verified with.
inline constexpr double kBatchNormEpsilon = 1e-5;
inline constexpr double kBatchNormMomentum = 0.1;

// operands.cc. `positions` may be null.
std::vector<Operand> ListOperands(const BatchNorm& norm, BatchNormOperands* positions);

// driver.cc
Parsed<std::vector<Problem>> ReadBatchNormCommand(const DriverLine& line, std::string_view type);

// reference.cc
const Reference& BatchNormReference();

}  // namespace attune
