// Checks that attune calls the libraries that it was built for. libattune.so and its plug-ins run
// in programs that may export functions of the same names, and the dynamic linker prefers those
// (docs/design/0047-libraries-without-deepbind.md).
#pragma once

#include "attune/base/status.h"

namespace attune {

// Checks the object around `address`: its calls of SOCI, SQLite, fmt, xxHash, libcrypto, zlib and
// bzip2, and the calls of these libraries among themselves. Each library must be used as a whole:
// either the library itself or, except for SOCI, one other object that has all of the called
// functions in a suitable version. Allocators and the C++ library are not checked. kUnavailable
// names the function and the object that defines it. Calls none of these libraries but version
// functions. If AddressSanitizer has replaced the function that throws, binds that of the object
// and its libraries to the C++ library again. Takes 0.1 to 0.4 ms.
Status CheckImports(const void* address);

// Checks the object that contains the caller, until it passes once. Passing costs nothing again.
// Every shared object has a copy of this module. Hidden visibility binds the call to that copy.
[[gnu::visibility("hidden")]] Status CheckOwnImports();

}  // namespace attune
