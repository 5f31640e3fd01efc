// Keeps descriptors 0 to 2 occupied. A program that was started with one of them closed would
// otherwise give its number to the next file that anything opens, and print into that file.
//
// Part of each program, not of a library: it runs before the constructors of every shared object
// and of the program itself, some of which open files (libxsmm one to write to).

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

// The runtime of a sanitizer is not ready yet: no instrumented code, and none of the functions that
// it replaces.
#define ATTUNE_UNINSTRUMENTED \
  __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

// The substitute for a closed descriptor is open the wrong way round, so that using it still fails
// (EBADF): lost output must not pass for written.
ATTUNE_UNINSTRUMENTED void OccupyStandardDescriptors(int, char**, char**) {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::syscall(SYS_fcntl, fd, F_GETFD) != -1 || errno != EBADF) continue;
    // It gets the lowest free number. A failure to open it cannot be reported.
    (void)::syscall(SYS_openat, AT_FDCWD, "/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

using Initializer = void (*)(int, char**, char**);

__attribute__((section(".preinit_array"), used)) const Initializer kOccupyFirst =
    OccupyStandardDescriptors;

}  // namespace
