// A libnvrtc.so.13 for tests: one of another version, every function of which refuses.

#include "backends/cuda/nvrtc.h"

#define STAND_IN_TEXT(NAME) #NAME
// In assembly, because their types are nvrtc.h's and this answers all of them alike.
#define STAND_IN_FUNCTION(NAME) \
  asm(".globl " STAND_IN_TEXT(NAME) "\n.set " STAND_IN_TEXT(NAME) ", StandInRefuses");

extern "C" {

int StandInRefuses() { return NVRTC_ERROR_INTERNAL_ERROR; }

int StandInVersion(int* major, int* minor) asm("nvrtcVersion");
int StandInVersion(int* major, int* minor) {
  *major = 13;
  *minor = 99;
  return NVRTC_SUCCESS;
}

}  // extern "C"

// The list has the version, too, which is above.
#define nvrtcVersion StandInUnused
ATTUNE_NVRTC_FUNCTIONS(STAND_IN_FUNCTION)
#undef nvrtcVersion
