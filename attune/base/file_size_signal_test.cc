#include "attune/base/file_size_signal.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include <gtest/gtest.h>

namespace attune {
namespace {

// How a child ends that may write no byte into files: its exit status, or minus its signal.
int EndOf(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int WriteOneByte() {
  char path[] = "/tmp/attune_file_size_XXXXXX";
  const int file = ::mkstemp(path);
  ::unlink(path);
  const ssize_t written = ::write(file, "x", 1);
  const int reason = errno;
  ::close(file);
  errno = reason;
  return written < 0 ? reason : 0;
}

TEST(FileSizeSignal, WithoutItTheWriterDies) { EXPECT_EQ(EndOf(WriteOneByte), -SIGXFSZ); }

TEST(FileSizeSignal, WhileItIsHeldTheWriteFails) {
  EXPECT_EQ(EndOf([] {
              {
                const FileSizeSignalHeld held;
                if (WriteOneByte() != EFBIG || WriteOneByte() != EFBIG) return 1;
              }
              // Nothing of it comes later.
              return 0;
            }),
            0);
}

TEST(FileSizeSignal, AfterwardsTheSignalIsTheProgramsAgain) {
  EXPECT_EQ(EndOf([] {
              { const FileSizeSignalHeld held; }
              return WriteOneByte();
            }),
            -SIGXFSZ);
}

TEST(FileSizeSignal, OneThatTheProgramHoldsBackItselfStaysPending) {
  EXPECT_EQ(EndOf([] {
              sigset_t own;
              ::sigemptyset(&own);
              ::sigaddset(&own, SIGXFSZ);
              ::pthread_sigmask(SIG_BLOCK, &own, nullptr);
              if (WriteOneByte() != EFBIG) return 1;
              {
                const FileSizeSignalHeld held;
                if (WriteOneByte() != EFBIG) return 2;
              }
              sigset_t pending;
              ::sigpending(&pending);
              return ::sigismember(&pending, SIGXFSZ) == 1 ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace attune
