// A libnvrtc.so.13 for tests: every function refuses, and the version is another one.

#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/driver/stand_in_functions.h"

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
