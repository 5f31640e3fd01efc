// The functions of CUDA's driver and of NVRTC that a capture itself calls, and the types of all
// functions that it interposes.
#pragma once

#include <cuda.h>
#include <nvrtc.h>

#include <type_traits>

#include "extensions/interposers/preload/real_symbol.h"

// Two steps, so that a name that cuda.h redefines is looked up under its new name.
#define ATTUNE_CUDA_NAME(NAME) #NAME

// The real function NAME, for the program or library that calls from `CALLER`.
#define ATTUNE_REAL_CUDA(NAME, CALLER)                                                    \
  ([](const void* caller_of_it) {                                                         \
    static constinit attune::interposer::RealSymbol symbol_of_it(ATTUNE_CUDA_NAME(NAME)); \
    return symbol_of_it.Get<std::remove_pointer_t<decltype(&::NAME)>>(caller_of_it);      \
  }(CALLER))
