# Writes a hash of the header ROOT/HEADER, and of every header of this tree that it includes however
# indirectly, as a header of its own to OUT. Left alone if it is the same as before.
#
#   cmake -DROOT=DIR -DHEADER=attune/solver/plugin.h -DOUT=FILE -P InterfaceHash.cmake
cmake_minimum_required(VERSION 3.20)

set(pending "${HEADER}")
set(seen)
while(pending)
  list(POP_FRONT pending header)
  # OUT itself is included, and not in the tree.
  if(header IN_LIST seen OR NOT EXISTS "${ROOT}/${header}")
    continue()
  endif()
  list(APPEND seen "${header}")
  file(STRINGS "${ROOT}/${header}" lines REGEX "^#include \"[a-z]+/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    list(APPEND pending "${included}")
  endforeach()
endwhile()

list(SORT seen)
set(text "")
foreach(header IN LISTS seen)
  file(SHA256 "${ROOT}/${header}" hash)
  string(APPEND text "${header} ${hash}\n")
endforeach()
string(SHA256 hash "${text}")
string(SUBSTRING "${hash}" 0 16 hash)

set(content "// Made by cmake/InterfaceHash.cmake.
#pragma once

namespace attune {

// Of plugin.h and what it includes.
inline constexpr const char* kPluginInterfaceHash = \"${hash}\";

}  // namespace attune
")
file(CONFIGURE OUTPUT "${OUT}" CONTENT "${content}" @ONLY)
