// A libcuda.so.1 for tests without a GPU. It has every function that attune calls. All refuse with
// STAND_IN_REFUSAL, except for the version, which is STAND_IN_VERSION. With STAND_IN_PARTIAL it has
// the version only. Files linked with it may define any of the others.

#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/stand_in_functions.h"

extern "C" {

int StandInRefuses() { return STAND_IN_REFUSAL; }

int StandInVersion(int* version) asm("cuDriverGetVersion");
int StandInVersion(int* version) {
  *version = STAND_IN_VERSION;
  return 0;
}

}  // extern "C"

#ifndef STAND_IN_PARTIAL
// The list has the version, too, which is above.
#define cuDriverGetVersion StandInUnused
ATTUNE_CUDA_DRIVER_FUNCTIONS(STAND_IN_FUNCTION)
#undef cuDriverGetVersion
#endif
