// OpenCL C as CUDA C++: the prelude of kernel file sources that NVRTC compiles.
#pragma once

#include <string_view>

namespace attune::kernel {

// Macros and functions for the part of OpenCL C that docs/formats/kernel_file.md names. Compiled
// with --device-as-default-execution-space, because functions of OpenCL C have no __device__.
std::string_view OpenClOnCuda();

}  // namespace attune::kernel
