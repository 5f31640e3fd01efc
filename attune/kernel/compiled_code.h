// Tells kernels that somebody has compiled from sources: nothing of them can be tuned.
#pragma once

#include <string_view>

#include "attune/base/status.h"

namespace attune::kernel {

// kUnsupported, with what it is, if a source called `name`, which holds `content` (or nothing, if
// it was not read yet), is compiled code: machine code, PTX, SPIR-V, LLVM's bitcode, a binary of
// CUDA or of PoCL.
Status RefuseCompiledCode(std::string_view name, std::string_view content);

}  // namespace attune::kernel
