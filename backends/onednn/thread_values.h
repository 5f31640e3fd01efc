// The values of every `threads` parameter of this plug-in.
#pragma once

#include <vector>

#include "attune/space/config_space.h"

namespace attune::onednn {

// All compute units first, then halves of that down to 1. Where the count cannot be chosen
// there is only 1, which then means "as many as the library likes".
std::vector<ParameterValue> ThreadValues(int compute_units);

}  // namespace attune::onednn
