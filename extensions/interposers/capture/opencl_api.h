// The functions of OpenCL that a capture itself calls, and the types of all functions that it
// interposes.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <type_traits>

#include "extensions/interposers/preload/real_symbol.h"

// The real function NAME, for the program or library that calls from `caller`.
#define ATTUNE_REAL_CL(NAME, CALLER)                                                 \
  ([](const void* caller_of_it) {                                                    \
    static constinit attune::interposer::RealSymbol symbol_of_it(#NAME);             \
    return symbol_of_it.Get<std::remove_pointer_t<decltype(&::NAME)>>(caller_of_it); \
  }(CALLER))
