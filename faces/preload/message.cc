#include "faces/preload/message.h"

#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace attune::face {
namespace {

constexpr size_t kMaxLine = 1024;
constexpr char kPrefix[] = "attune " ATTUNE_FACE ": ";

// The program's own stream may be buffered, closed or wide, so the descriptor is written to.
void Write(const char* format, va_list arguments) {
  char line[kMaxLine] = {};
  std::memcpy(line, kPrefix, sizeof kPrefix);
  const size_t begin = sizeof kPrefix - 1;
  const size_t room = sizeof line - begin - 1;  // One byte stays for the end of the line.
  const int wanted = std::vsnprintf(line + begin, room, format, arguments);
  size_t size = begin;
  if (wanted > 0) size += static_cast<size_t>(wanted) < room ? wanted : room - 1;
  line[size++] = '\n';
  // A standard error that cannot be written to leaves nowhere to say so.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, size);
}

}  // namespace

void Say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Write(format, arguments);
  va_end(arguments);
}

void Die(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Write(format, arguments);
  va_end(arguments);
  std::abort();
}

}  // namespace attune::face
