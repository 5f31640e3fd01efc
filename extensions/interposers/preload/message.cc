#include "extensions/interposers/preload/message.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attune/base/file_size_signal.h"
#include "attune/base/host_messages.h"

namespace attune::interposer {
namespace {

constexpr size_t kMaxLine = 1024;
constexpr char kPrefix[] = "attune " ATTUNE_INTERPOSER ": ";

struct Identity {
  dev_t device;
  ino_t inode;  // 0: it was closed.
};
constinit Identity standard_error = {0, 0};

bool IsStandardError(struct stat& info) {
  return standard_error.inode != 0 && ::fstat(STDERR_FILENO, &info) == 0 &&
         info.st_dev == standard_error.device && info.st_ino == standard_error.inode;
}

// True if PIPE_BUF bytes can be written without waiting. Waits 5 ms for a slow reader.
bool TakesALine() {
  constexpr int kPatienceMs = 5;
  pollfd asked = {STDERR_FILENO, POLLOUT, 0};
  return ::poll(&asked, 1, kPatienceMs) == 1 && (asked.revents & POLLOUT) != 0;
}

// Writes to the descriptor, because the program's stream may be buffered, closed or wide. Drops the
// message if that fails. A full pipe, or one without a reader, neither stops nor ends the program.
void WriteToStandardError(iovec* parts, int count) {
  struct stat info;
  if (!IsStandardError(info) || !TakesALine()) return;
  const SignalHeld no_reader(SIGPIPE);
  const SignalHeld no_room(SIGXFSZ);  // ulimit -f
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(count);
  [[maybe_unused]] const ssize_t written =
      S_ISSOCK(info.st_mode) ? ::sendmsg(STDERR_FILENO, &message, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : ::writev(STDERR_FILENO, parts, count);
}

__attribute__((constructor)) void AtStart() {
  struct stat info;
  if (::fstat(STDERR_FILENO, &info) == 0) standard_error = {info.st_dev, info.st_ino};
  // This library sets it while the process has one thread. The run time changes it in place later.
  if (!__libc_single_threaded || std::getenv(kReportedVariable) != nullptr) return;
  unsigned long long word = 0;
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word) word = ::getpid();
  char value[32];
  std::snprintf(value, sizeof value, "%s%016llx", kNoComplaints, word);
  ::setenv(kReportedVariable, value, 1);
}

void Write(const char* format, va_list arguments) {
  char line[kMaxLine] = {};
  std::memcpy(line, kPrefix, sizeof kPrefix);
  const size_t begin = sizeof kPrefix - 1;
  const size_t room = sizeof line - begin - 1;  // One byte stays for the end of the line.
  const int wanted = std::vsnprintf(line + begin, room, format, arguments);
  size_t size = begin;
  if (wanted > 0) size += static_cast<size_t>(wanted) < room ? wanted : room - 1;
  line[size++] = '\n';
  iovec whole = {line, size};
  WriteToStandardError(&whole, 1);
}

}  // namespace

void SayLine(const char* line) {
  const size_t size = std::min<size_t>(std::strlen(line), PIPE_BUF - 1);
  iovec parts[] = {{const_cast<char*>(line), size}, {const_cast<char*>("\n"), 1}};
  WriteToStandardError(parts, 2);
}

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

}  // namespace attune::interposer
