// The line of `attune devices` about oneDNN.
#pragma once

#include "attune/solver/backend.h"

namespace attune::onednn {

// Version, file and build identity of the libdnnl that this process runs: the commit where the
// library knows it, else the build-id note of the file.
LibraryReport ReportLibrary();

}  // namespace attune::onednn
