// Words of a preload library, which has no other way to reach the user than standard error. They
// are written only while descriptor 2 is the file that it was when the program started: a program
// may close it and use the number for a file or a socket of its own.
#pragma once

namespace attune::face {

// Writes "attune blas: ", or the name of another face, and the formatted sentence as one line, in
// one write. At most 1 KiB.
__attribute__((format(printf, 1, 2))) void Say(const char* format, ...);

// Writes a line of the run time as it is.
void SayLine(const char* line);

// As Say(), and ends the process with abort(): nothing can be computed, or nothing may be.
[[noreturn]] __attribute__((format(printf, 1, 2))) void Die(const char* format, ...);

}  // namespace attune::face
