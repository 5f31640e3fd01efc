// CUDA C++ as HIP C++: the prelude of kernel sources that hipcc compiles.
#pragma once

#include <string_view>

namespace attune::hip {

// Includes HIP's header and defines the names of CUDA C++ that HIP lacks.
std::string_view CudaOnHip();

// Belongs behind CudaOnHip() and before the prelude of OpenCL C on CUDA, because the functions of
// the latter lack __device__.
std::string_view OpenClOnCudaOnHip();

}  // namespace attune::hip
