// The results files of TunableOp's kind that a program will read, by its environment.
#pragma once

#include "attune/base/status.h"

namespace attune {

// Why one of them cannot be read on the first device; ok if there is none.
Status CheckProgramResults();

}  // namespace attune
