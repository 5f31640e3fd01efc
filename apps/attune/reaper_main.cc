// attune-reaper FOLDER PROGRAM ARGUMENTS...: runs a program in FOLDER and ends all that came of it.
// Started by attune only (attune/base/program_run.cc); docs/formats/child_protocol.md has what is
// said between them. Whatever the program starts stays beneath this process, also what makes itself
// a session of its own or loses its parent, because it is the subreaper of all of them.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "attune/base/descendants.h"
#include "attune/base/reaper_report.h"
#include "attune/base/steady_time.h"

namespace {

using attune::ReaperReport;

// A process that no signal ends waits for a device or a disk, or is another user's.
constexpr int64_t kLongestEndNs = 10'000'000'000;
constexpr int kLookAgainMs = 10;

void Say(ReaperReport report) {
  // Whoever does not read any more wants no report.
  (void)!::write(attune::kReaperReportFd, &report, sizeof(report));
}

// In the child.
[[noreturn]] void Become(char** words, pid_t reaper) {
  // With a reaper that is killed nobody ends what this starts, but it ends itself.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != reaper) ::_exit(127);
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, 0);
  if (::chdir(words[0]) == 0) ::execv(words[1], words + 1);
  Say({ReaperReport::How::kUnstarted, errno});
  ::_exit(127);
}

// Waits for every child that has ended, and says what became of `program`. Whether some are left.
bool Reap(pid_t program) {
  for (;;) {
    siginfo_t status{};
    if (::waitid(P_ALL, 0, &status, WEXITED | WNOHANG) != 0) return errno == EINTR;
    if (status.si_pid == 0) return true;
    if (status.si_pid != program) continue;
    const bool has_exited = status.si_code == CLD_EXITED;
    Say({has_exited ? ReaperReport::How::kExited : ReaperReport::How::kSignalled,
         status.si_status});
  }
}

void AwaitChild(int ended_fd, int alive_fd, int longest_ms) {
  pollfd sources[] = {{ended_fd, POLLIN, 0}, {alive_fd, POLLIN, 0}};
  ::poll(sources, 2, longest_ms);
  signalfd_siginfo ignored[16];
  if ((sources[0].revents & POLLIN) != 0) (void)!::read(ended_fd, ignored, sizeof(ignored));
}

// Whether `parent` is there and wants what runs.
bool IsWanted(pid_t parent) {
  pollfd alive{attune::kReaperAliveFd, POLLIN, 0};
  return ::poll(&alive, 1, 0) == 0 && ::getppid() == parent;
}

// Whether nothing is left.
bool EndAll(pid_t program, int ended_fd) {
  const int64_t end_ns = attune::SteadyNowNs() + kLongestEndNs;
  // Those of a parent that is killed become this process's own, so that no generation escapes.
  while (Reap(program)) {
    attune::VisitDescendants(::getpid(), [](pid_t process) { ::kill(process, SIGKILL); });
    if (attune::SteadyNowNs() > end_ns) return false;
    AwaitChild(ended_fd, -1, kLookAgainMs);
  }
  return true;
}

}  // namespace

int main(int argument_count, char** arguments) {
  struct stat report {};
  if (argument_count < 3 || ::fstat(attune::kReaperReportFd, &report) != 0 ||
      !S_ISFIFO(report.st_mode)) {
    std::fputs("attune-reaper: This program is started by attune to run others.\n", stderr);
    return 2;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::fcntl(attune::kReaperReportFd, F_SETFD, FD_CLOEXEC);
  // Only what IsWanted() says ends this process in order.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t ended;
  ::sigemptyset(&ended);
  ::sigaddset(&ended, SIGCHLD);
  const int ended_fd = ::signalfd(-1, &ended, SFD_CLOEXEC);
  // What the parent has forked keeps its end of the connection open beyond its death.
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGCHLD);
  const pid_t reaper = ::getpid();
  const pid_t program = ::fork();
  if (program == 0) Become(arguments + 1, reaper);
  if (program < 0) {
    Say({ReaperReport::How::kUnstarted, errno});
    return 0;
  }
  // The program's output ends with those that write it.
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(null, 1);
  ::dup2(null, 2);
  while (IsWanted(parent)) {
    (void)Reap(program);
    AwaitChild(ended_fd, attune::kReaperAliveFd, -1);
  }
  return EndAll(program, ended_fd) ? 0 : attune::kReaperLeftSomething;
}
