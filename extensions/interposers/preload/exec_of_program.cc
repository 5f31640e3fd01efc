// The exec functions of the program. They replace it without running exit handlers, so these
// versions write the recorded problems first. A child of vfork() writes nothing: it is not the
// process that recorded. Signal handlers can call all of them.

#include <alloca.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "extensions/interposers/preload/service.h"

namespace {

using Arguments = char* const*;

// The function that the program would call without this library: a sanitizer's or the C library's.
// Found at the start, because signal handlers must not call dlsym().
template <class Function>
struct Next {
  const char* name;
  Function* function;

  void Find() { function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name)); }

  template <class... Values>
  int operator()(Values... values) {
    attune::interposer::the_service.FlushRecords();
    if (function == nullptr) Find();  // A constructor can run before ours.
    if (function != nullptr) return function(values...);
    errno = ENOSYS;
    return -1;
  }
};

constinit Next<int(const char*, Arguments, Arguments)> next_execve = {"execve", nullptr};
constinit Next<int(const char*, Arguments, Arguments)> next_execvpe = {"execvpe", nullptr};
constinit Next<int(const char*, Arguments)> next_execv = {"execv", nullptr};
constinit Next<int(const char*, Arguments)> next_execvp = {"execvp", nullptr};
constinit Next<int(int, Arguments, Arguments)> next_fexecve = {"fexecve", nullptr};
constinit Next<int(int, const char*, Arguments, Arguments, int)> next_execveat = {"execveat",
                                                                                  nullptr};

__attribute__((constructor)) void FindNext() {
  next_execve.Find();
  next_execvpe.Find();
  next_execv.Find();
  next_execvp.Find();
  next_fexecve.Find();
  next_execveat.Find();
}

// The number of arguments before the null pointer.
size_t Count(va_list arguments) {
  size_t count = 0;
  va_list counted;
  va_copy(counted, arguments);
  while (va_arg(counted, char*) != nullptr) ++count;
  va_end(counted);
  return count;
}

// Copies `first`, the `count` others and the null pointer into `array`, which has room for them.
void Take(const char* first, va_list& others, size_t count, char** array) {
  array[0] = const_cast<char*>(first);
  for (size_t i = 0; i <= count; ++i) array[i + 1] = va_arg(others, char*);
}

}  // namespace

// An argument list on the stack, as the C library makes it.
#define ATTUNE_TAKE_ARGUMENTS(first, array)                                \
  va_list others;                                                          \
  va_start(others, first);                                                 \
  const size_t count = Count(others);                                      \
  auto** array = static_cast<char**>(alloca((count + 2) * sizeof(char*))); \
  Take(first, others, count, array);

#define ATTUNE_EXPORT __attribute__((visibility("default")))

extern "C" {

ATTUNE_EXPORT int execve(const char* path, Arguments arguments, Arguments variables) noexcept {
  return next_execve(path, arguments, variables);
}

ATTUNE_EXPORT int execv(const char* path, Arguments arguments) noexcept {
  return next_execv(path, arguments);
}

ATTUNE_EXPORT int execvp(const char* file, Arguments arguments) noexcept {
  return next_execvp(file, arguments);
}

ATTUNE_EXPORT int execvpe(const char* file, Arguments arguments, Arguments variables) noexcept {
  return next_execvpe(file, arguments, variables);
}

ATTUNE_EXPORT int fexecve(int fd, Arguments arguments, Arguments variables) noexcept {
  return next_fexecve(fd, arguments, variables);
}

ATTUNE_EXPORT int execveat(int folder, const char* path, Arguments arguments, Arguments variables,
                           int flags) noexcept {
  return next_execveat(folder, path, arguments, variables, flags);
}

ATTUNE_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  ATTUNE_TAKE_ARGUMENTS(first, arguments)
  va_end(others);
  return next_execv(path, arguments);
}

ATTUNE_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  ATTUNE_TAKE_ARGUMENTS(first, arguments)
  va_end(others);
  return next_execvp(file, arguments);
}

ATTUNE_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  ATTUNE_TAKE_ARGUMENTS(first, arguments)
  auto* const* variables = va_arg(others, char**);
  va_end(others);
  return next_execve(path, arguments, variables);
}

}  // extern "C"
