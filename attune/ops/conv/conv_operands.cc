#include "attune/ops/conv/conv_operands.h"

namespace attune {

ConvRoles RolesOf(const Conv& conv) {
  switch (conv.direction) {
    case ConvDirection::kForward:
      return {0, 1, conv.bias ? 3u : 2u, 2};
    case ConvDirection::kBackwardData:
      return {2, 1, 0, 0};
    case ConvDirection::kBackwardWeights:
      return {0, 2, 1, 0};
  }
  return {};
}

}  // namespace attune
