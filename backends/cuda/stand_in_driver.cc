// A libcuda.so.1 for tests without a GPU: it has every function that attune calls, all of which
// refuse with STAND_IN_REFUSAL, but for the version, which is STAND_IN_VERSION. With
// STAND_IN_PARTIAL it has the version alone. What is linked with it may define any of the others.

#include "backends/cuda/driver.h"

#define STAND_IN_TEXT(NAME) #NAME
// Under the names that cuda.h gives them, as the driver is asked for them. In assembly, because
// their types are cuda.h's and this answers all of them alike.
#define STAND_IN_FUNCTION(NAME) \
  asm(".weak " STAND_IN_TEXT(NAME) "\n.set " STAND_IN_TEXT(NAME) ", StandInRefuses");

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
