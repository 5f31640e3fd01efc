// CUPTI as a line of `attune devices`: also where its headers were missing when this was built.
#pragma once

#include "attune/solver/backend.h"

namespace attune::cuda {

LibraryReport CuptiReport();

}  // namespace attune::cuda
