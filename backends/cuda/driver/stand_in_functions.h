// How libraries of CUDA that stand in for the real ones in tests define what they only refuse:
// lists of functions are expanded with STAND_IN_FUNCTION, each of which then is StandInRefuses.
#pragma once

#define STAND_IN_TEXT(NAME) #NAME
// Under the names that the library's header gives them, as they are looked up. In assembly, because
// their types are that header's and one answer is for all. Weak, so that what is linked with them
// may define any of them.
#define STAND_IN_FUNCTION(NAME) \
  asm(".weak " STAND_IN_TEXT(NAME) "\n.set " STAND_IN_TEXT(NAME) ", StandInRefuses");
