// The parts of the operator softmax. Private to this folder.
#pragma once

#include "attune/problem/reference.h"

namespace attune {

// The alpha that a scaled softmax is measured and verified with.
inline constexpr double kSoftmaxScale = 0.125;

// reference.cc
const Reference& SoftmaxReference();

}  // namespace attune
