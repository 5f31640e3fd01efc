// The names of environment variables.
#pragma once

#include <string>
#include <vector>

#include "attune/base/process_variables.h"

namespace attune {

// One sentence for each variable that has attune's prefix and a name that nothing of attune reads:
// most likely a typo. Those of TunableOp's kind are told by their own reader.
std::vector<std::string> NotesOnUnknownVariables(const ProcessVariables& variables);

}  // namespace attune
