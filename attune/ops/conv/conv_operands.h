// Maps the operands of a convolution to tensors.
#pragma once

#include <cstddef>

#include "attune/ops/conv/conv.h"

namespace attune {

// Indices into Operands(conv). x, w and y also stand for their gradients.
struct ConvRoles {
  size_t x = 0, w = 0, y = 0;
  size_t bias = 0;  // Meaningful only with a bias.
};
ConvRoles RolesOf(const Conv& conv);

}  // namespace attune
