// Detects kernels that are compiled code, which has nothing to tune.
#pragma once

#include <string_view>

#include "attune/base/status.h"

namespace attune::kernel {

// kUnsupported, with the format, if the source `name` is compiled code: machine code, PTX, SPIR-V,
// LLVM's bitcode, a binary of CUDA or of PoCL. `content` may be empty if it was not read yet.
Status RefuseCompiledCode(std::string_view name, std::string_view content);

}  // namespace attune::kernel
