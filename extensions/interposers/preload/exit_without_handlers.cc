// Ends of the program that run no exit handlers: _exit(), _Exit() and quick_exit(). The recorded
// problems are written before. Python's worker processes end this way.

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "extensions/interposers/preload/service.h"

namespace {

using Exit = void(int);

// The function that the program would call without this library: a sanitizer's or the C library's.
// Found at the start, because a signal handler may call _exit().
constinit Exit* next_exit = nullptr;

__attribute__((constructor)) void PrepareToLeave() {
  // Registered first, it runs last.
  (void)std::at_quick_exit([] { attune::interposer::the_service.FlushRecords(); });
  next_exit = reinterpret_cast<Exit*>(::dlsym(RTLD_NEXT, "_exit"));
}

[[noreturn]] void Leave(int status) {
  attune::interposer::the_service.FlushRecords();
  if (next_exit != nullptr) next_exit(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

extern "C" {

__attribute__((noreturn, visibility("default"))) void _exit(int status) { Leave(status); }
__attribute__((noreturn, visibility("default"))) void _Exit(int status) { Leave(status); }

}  // extern "C"
