#include "extensions/interposers/waited_program.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "apps/attune/interrupt.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

// Blocks every signal and resets SIGCHLD, so that this process can wait for a child. GiveBack()
// restores the former state: in the child, or in this process if fork() fails.
class SignalsTaken {
 public:
  SignalsTaken() {
    const sigset_t all = All();
    ::sigprocmask(SIG_BLOCK, &all, &mask_);
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &usual, &child_);
  }

  static sigset_t All() {
    sigset_t all;
    ::sigfillset(&all);
    return all;
  }

  void GiveBack() const {
    ::sigaction(SIGCHLD, &child_, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_;
  struct sigaction child_ {};
};

[[noreturn]] void BecomeInChild(const std::vector<std::string>& command, pid_t parent,
                                const SignalsTaken& signals, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl().
  if (::getppid() != parent) ::_exit(kSignalledStatus + SIGKILL);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  signals.GiveBack();
  ::execvp(arguments[0], arguments.data());
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = ::write(failure, &reason, sizeof reason);
  ::_exit(kSignalledStatus - 1);
}

// errno if the child did not become the program, else 0.
int ReadStartError(int pipe) {
  int reason = 0;
  ssize_t size = 0;
  do {
    size = ::read(pipe, &reason, sizeof reason);
  } while (size < 0 && errno == EINTR);
  return size == sizeof reason ? reason : 0;
}

// attune opens everything with O_CLOEXEC: a descriptor without this flag is inherited.
void CloseInherited() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    if (null.valid()) ::dup2(null.get(), fd);
  }
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  std::vector<int> inherited;
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    const int flags = fd > STDERR_FILENO ? ::fcntl(fd, F_GETFD) : -1;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) inherited.push_back(fd);
  }
  ::closedir(folder);
  for (const int fd : inherited) ::close(fd);
}

// The kernel sends a signal of the terminal to the whole group, so the program has it already. The
// program's own signals to its group must not return to it.
bool IsForProgram(const siginfo_t& signal, pid_t program) {
  if (signal.si_code == SI_KERNEL) {
    // A hangup of the terminal reaches only the leader of the session.
    return signal.si_signo == SIGHUP && ::getsid(0) == ::getpid();
  }
  return signal.si_pid != program;
}

void SendOn(const siginfo_t& signal, pid_t program) {
  if (!IsForProgram(signal, program)) return;
  if (signal.si_code == SI_QUEUE) {
    ::sigqueue(program, signal.si_signo, signal.si_value);
  } else {
    ::kill(program, signal.si_signo);
  }
}

// Returns true, with its status, if the program has ended. Also reaps orphans, which come to this
// process if it is the first of a container.
bool HasEnded(pid_t program, int& status) {
  for (;;) {
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return false;
    if (pid != program) continue;
    if (WIFEXITED(status) || WIFSIGNALED(status)) return true;
    if (WIFSTOPPED(status)) ::kill(::getpid(), SIGSTOP);
  }
}

int WaitFor(pid_t program) {
  // Ignored signals, too: the program may handle them.
  const sigset_t waited = SignalsTaken::All();
  int status = 0;
  while (!HasEnded(program, status)) {
    siginfo_t signal{};
    const int number = ::sigwaitinfo(&waited, &signal);
    if (number > 0 && number != SIGCHLD) SendOn(signal, program);
  }
  return status;
}

}  // namespace

Result<WaitedEnd> RunWaited(const std::vector<std::string>& command,
                            const std::function<void()>& in_child) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Unavailable(fmt::format("Cannot make a pipe: {}.", std::strerror(errno)));
  }
  const UniqueFd failure(ends[0]);
  UniqueFd tell(ends[1]);
  const SignalsTaken signals;
  const pid_t parent = ::getpid();
  const pid_t program = ::fork();
  if (program < 0) {
    const int reason = errno;
    signals.GiveBack();
    return Unavailable(fmt::format("Cannot make a process: {}.", std::strerror(reason)));
  }
  RestoreSignalHandlers();
  if (program == 0) {
    in_child();
    BecomeInChild(command, parent, signals, tell.get());
  }
  tell.Reset();
  CloseInherited();
  WaitedEnd end;
  end.start_error = ReadStartError(failure.get());
  end.wait_status = WaitFor(program);
  return end;
}

int EndAs(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  const int number = WTERMSIG(wait_status);
  // A core dump of this process would be a second one beside the program's.
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(number, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  // The signal does not end the first process of a container.
  return kSignalledStatus + number;
}

}  // namespace attune
