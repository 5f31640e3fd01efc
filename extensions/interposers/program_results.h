// The TunableOp results files that the environment of a program names.
#pragma once

#include "attune/base/status.h"

namespace attune {

// The reason why the file of the first device is unreadable. Ok if there is no file.
Status CheckProgramResults();

}  // namespace attune
