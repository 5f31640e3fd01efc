// Words of a preload library, which has no other way to reach the user than standard error.
#pragma once

namespace attune::face {

// Writes "attune blas: ", or the name of another face, and the formatted sentence as one line, in
// one write. At most 1 KiB.
__attribute__((format(printf, 1, 2))) void Say(const char* format, ...);

// The same, and ends the process with abort(): nothing can be computed, or nothing may be.
[[noreturn]] __attribute__((format(printf, 1, 2))) void Die(const char* format, ...);

}  // namespace attune::face
