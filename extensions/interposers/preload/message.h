// Messages of a preload library, which reaches the user only through standard error. They are
// written only while descriptor 2 is the file that it was when the program started: a program may
// close it and reuse the number for a file or a socket.
#pragma once

namespace attune::interposer {

// Writes "attune blas: ", or the name of another interposer, and the formatted sentence as one
// line, in one write. At most 1 KiB.
__attribute__((format(printf, 1, 2))) void Say(const char* format, ...);

// Writes a line of the run time unchanged.
void SayLine(const char* line);

// Calls Say() and then abort(): nothing can or may compute.
[[noreturn]] __attribute__((format(printf, 1, 2))) void Die(const char* format, ...);

}  // namespace attune::interposer
