#include "extensions/interposers/captured_program.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "extensions/interposers/waited_program.h"

extern char** environ;

namespace attune {
namespace {

// The handler can reach nothing but globals.
volatile sig_atomic_t g_program = 0;

void PassOn(int signal_number) {
  if (g_program > 0) ::kill(static_cast<pid_t>(g_program), signal_number);
}

// Interrupts come from the terminal to the program as well, which decides what becomes of them.
class SignalsOfProgram {
 public:
  SignalsOfProgram() {
    struct sigaction action {};
    ::sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = SIG_IGN;
    for (int i = 0; i < 2; ++i) ::sigaction(kIgnored[i], &action, &old_[i]);
    action.sa_handler = PassOn;
    for (int i = 0; i < 2; ++i) ::sigaction(kPassed[i], &action, &old_[2 + i]);
  }
  SignalsOfProgram(const SignalsOfProgram&) = delete;
  SignalsOfProgram& operator=(const SignalsOfProgram&) = delete;
  ~SignalsOfProgram() {
    for (int i = 0; i < 2; ++i) ::sigaction(kIgnored[i], &old_[i], nullptr);
    for (int i = 0; i < 2; ++i) ::sigaction(kPassed[i], &old_[2 + i], nullptr);
    g_program = 0;
  }

  // Those that the program gets back as they usually are: what attune itself ignores or was told
  // to.
  sigset_t Defaults() const {
    sigset_t set;
    ::sigemptyset(&set);
    for (int i = 0; i < 2; ++i) {
      if (old_[i].sa_handler != SIG_IGN) ::sigaddset(&set, kIgnored[i]);
    }
    ::sigaddset(&set, SIGPIPE);
    ::sigaddset(&set, SIGXFSZ);
    return set;
  }

 private:
  static constexpr int kIgnored[] = {SIGINT, SIGQUIT};
  static constexpr int kPassed[] = {SIGTERM, SIGHUP};
  struct sigaction old_[4] = {};
};

std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!variables.contains(name)) environment.emplace_back(text);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<ProgramEnd> RunToItsEnd(const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& variables) {
  std::vector<std::string> arguments = words;
  std::vector<std::string> environment = EnvironmentWith(variables);
  const SignalsOfProgram signals;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  const sigset_t defaults = signals.Defaults();
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  ProgramEnd end;
  pid_t program = 0;
  end.start_error = ::posix_spawnp(&program, arguments[0].c_str(), nullptr, &attributes,
                                   Pointers(arguments).data(), Pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (end.start_error != 0) return end;
  g_program = program;
  int status = 0;
  while (::waitpid(program, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return Unavailable(fmt::format("Cannot wait for '{}': {}.", words[0], std::strerror(errno)));
  }
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_status = end.signal != 0 ? kSignalledStatus + end.signal : WEXITSTATUS(status);
  return end;
}

}  // namespace attune
