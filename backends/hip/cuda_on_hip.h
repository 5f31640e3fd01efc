// CUDA C++ as HIP C++: what a source of kernel files begins with where it is compiled by hipcc.
#pragma once

#include <string_view>

namespace attune::hip {

// Includes HIP's header and has words for what HIP lacks of CUDA C++.
std::string_view CudaOnHip();

// To be put behind CudaOnHip() and before the prelude of OpenCL C on CUDA, whose functions have no
// __device__.
std::string_view OpenClOnCudaOnHip();

}  // namespace attune::hip
