// The number of threads that the program has set for its own BLAS by a call.
#pragma once

#include <cstdint>

namespace attune::blas {

// Finds the functions that return the setting, in the library of `function`, a BLAS function of the
// program, and in the dependencies of that library. Call it before the service serves.
void FindThreadSetting(const void* function);

// An attune_thread_limit: the present setting of OpenBLAS, BLIS or MKL; 0 if the program uses
// another BLAS.
int32_t ThreadsOfProgram(void* context);

}  // namespace attune::blas
