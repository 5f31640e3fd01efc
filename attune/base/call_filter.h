// Filters of system calls (seccomp) that the host program installs. Needs the C library alone, as
// process_room.h does.
#pragma once

namespace attune {

// True if this thread has got its first filter since this library was loaded. Filters may end the
// process for whatever attune does next: open a file, start a thread. So it then does nothing new.
// False if there was a filter from the start, as in a container: the kernel does not tell of
// further ones. Takes one system call, prctl, which a filter may forbid, too; keeps errno.
bool HasNewCallFilter();

}  // namespace attune
