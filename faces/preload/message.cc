#include "faces/preload/message.h"

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
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace attune::face {
namespace {

constexpr size_t kMaxLine = 1024;
constexpr char kPrefix[] = "attune " ATTUNE_FACE ": ";

struct Identity {
  dev_t device;
  ino_t inode;  // 0: it was closed.
};
constinit Identity standard_error = {0, 0};

// For the run time (attune/base/host_messages.h): which complaints a process of this tree has made.
// It is put into the environment here, while there is one thread alone, and changed there later.
constexpr const char* kReportedVariable = "ATTUNE_REPORTED";

bool IsStandardError(struct stat& info) {
  return standard_error.inode != 0 && ::fstat(STDERR_FILENO, &info) == 0 &&
         info.st_dev == standard_error.device && info.st_ino == standard_error.inode;
}

// Whether PIPE_BUF bytes can be written without waiting for a reader, but for one that is slow for
// a moment.
bool TakesALine() {
  constexpr int kPatienceMs = 5;
  pollfd asked = {STDERR_FILENO, POLLOUT, 0};
  return ::poll(&asked, 1, kPatienceMs) == 1 && (asked.revents & POLLOUT) != 0;
}

// While it lives, a write raises no signal that would end the program: nobody reads the pipe, or
// the file may not grow (ulimit -f).
class SignalsHeld {
 public:
  SignalsHeld() {
    ::sigemptyset(&held_);
    ::sigaddset(&held_, SIGPIPE);
    ::sigaddset(&held_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
    if (::sigpending(&pending_) != 0) pending_ = held_;
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

  // Takes the signal of a write that failed with `error`, unless the program had one pending.
  void Drop(int error) const {
    const int raised = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    if (raised == 0 || ::sigismember(&pending_, raised) == 1) return;
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, raised);
    constexpr timespec kNoWait = {};
    (void)::sigtimedwait(&one, nullptr, &kNoWait);
  }

 private:
  sigset_t held_;
  sigset_t before_;
  sigset_t pending_;
};

// The program's own stream may be buffered, closed or wide, so the descriptor is written to. Where
// that is not possible there is nowhere to say so; a pipe that nobody reads, or that is full,
// neither ends nor stops the program.
void WriteToStandardError(iovec* parts, int count) {
  struct stat info;
  if (!IsStandardError(info) || !TakesALine()) return;
  const SignalsHeld held;
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<size_t>(count);
  const ssize_t written = S_ISSOCK(info.st_mode)
                              ? ::sendmsg(STDERR_FILENO, &message, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : ::writev(STDERR_FILENO, parts, count);
  if (written < 0) held.Drop(errno);
}

__attribute__((constructor)) void AtStart() {
  struct stat info;
  if (::fstat(STDERR_FILENO, &info) == 0) standard_error = {info.st_dev, info.st_ino};
  if (!__libc_single_threaded || std::getenv(kReportedVariable) != nullptr) return;
  unsigned long long word = 0;
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word) word = ::getpid();
  char value[32];
  std::snprintf(value, sizeof value, "---%016llx", word);
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

}  // namespace attune::face
