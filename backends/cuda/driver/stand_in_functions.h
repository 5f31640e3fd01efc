// Functions that refuse, for stand-ins of CUDA's libraries in tests: lists of functions are
// expanded with STAND_IN_FUNCTION, which defines each as StandInRefuses.
#pragma once

#define STAND_IN_TEXT(NAME) #NAME
// Defines the names of the library's header, as they are looked up. In assembly, because the header
// gives them different types and all have one answer. Weak, so that files linked with them may
// define any of them.
#define STAND_IN_FUNCTION(NAME) \
  asm(".weak " STAND_IN_TEXT(NAME) "\n.set " STAND_IN_TEXT(NAME) ", StandInRefuses");
