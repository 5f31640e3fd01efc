#include "attune/base/program_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/process_variables.h"
#include "attune/base/spawn_settings.h"
#include "attune/base/steady_time.h"
#include "attune/base/text.h"
#include "attune/base/unique_fd.h"

extern char** environ;

namespace attune {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr double kNsPerSecond = 1e9;
// Also how long a program that has closed its output and not ended is not looked at.
constexpr int64_t kLongestPollMs = 50;
// How long the output of a program that has ended is read on, where something that it started holds
// it open.
constexpr int64_t kHeldOutputNs = 500 * kNsPerMs;

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Unavailable(fmt::format("Cannot make a pipe: {}.", strerror(errno)));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// "NAME=VALUE" of this process, with `variables` in the place of those of their names.
std::vector<std::string> EntriesWith(const ProcessVariables& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!variables.contains(text.substr(0, text.find('=')))) entries.emplace_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

// The process group of a program. Its leader is a shell that kills it when this process has ended,
// however: a signal for the death of a parent (prctl) would reach that program alone, and
// not what that has started.
class ProgramGroup {
 public:
  static Result<std::unique_ptr<ProgramGroup>> Make() {
    ATTUNE_ASSIGN_OR_RETURN(Pipe alive, MakePipe());
    SpawnSettings settings;
    ::posix_spawn_file_actions_adddup2(settings.actions(), alive.read_end.get(), 0);
    ::posix_spawn_file_actions_addopen(settings.actions(), 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(settings.actions(), 2, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addclosefrom_np(settings.actions(), 3);
    ::posix_spawn_file_actions_addchdir_np(settings.actions(), "/");
    pid_t pid = -1;
    // Nothing is ever written: it reads until nobody has the other end.
    const int error = settings.Spawn({"/bin/sh", "-c", "read -r _; kill -9 0"}, environ, &pid);
    if (error != 0) return Unavailable(fmt::format("Cannot start '/bin/sh': {}.", strerror(error)));
    return std::make_unique<ProgramGroup>(pid, std::move(alive.write_end));
  }

  ProgramGroup(pid_t leader, UniqueFd alive) : leader_(leader), alive_(std::move(alive)) {}
  ProgramGroup(const ProgramGroup&) = delete;
  ProgramGroup& operator=(const ProgramGroup&) = delete;
  // Kills all that run in it.
  ~ProgramGroup() {
    // Before any of them is reaped: until then the number is nobody else's.
    ::kill(-leader_, SIGKILL);
    Reap(leader_);
    if (program_ > 0) Reap(program_);
  }

  // posix_spawn's error number. Call once.
  int Start(const ProgramCommand& command, int out, int log) {
    SpawnSettings settings;
    settings.JoinGroup(leader_);
    ::posix_spawn_file_actions_addopen(settings.actions(), 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(settings.actions(), out, 1);
    ::posix_spawn_file_actions_adddup2(settings.actions(), log, 2);
    ::posix_spawn_file_actions_addclosefrom_np(settings.actions(), 3);
    ::posix_spawn_file_actions_addchdir_np(settings.actions(), command.folder.c_str());
    pid_t pid = -1;
    const std::vector<std::string> entries = EntriesWith(command.variables);
    std::vector<char*> variables;
    for (const std::string& entry : entries) variables.push_back(const_cast<char*>(entry.c_str()));
    variables.push_back(nullptr);
    const int error = settings.Spawn(command.words, variables.data(), &pid);
    if (error == 0) program_ = pid;
    if (error == 0) ended_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    return error;
  }

  // Can be read once the program has ended; -1 where the system has no such thing.
  int ended_fd() const { return ended_.get(); }

  // Whether the program has ended; its status then. It stays to be reaped.
  bool HasEnded(siginfo_t& status) const {
    status = {};
    const int done =
        ::waitid(P_PID, static_cast<id_t>(program_), &status, WEXITED | WNOHANG | WNOWAIT);
    return done == 0 && status.si_pid == program_;
  }

 private:
  static void Reap(pid_t pid) {
    int ignored = 0;
    while (::waitpid(pid, &ignored, 0) < 0 && errno == EINTR) {
    }
  }

  const pid_t leader_;
  const UniqueFd alive_;  // Closed by the end of this process at the latest.
  pid_t program_ = -1;
  UniqueFd ended_;
};

// Appends what is there; true at the end of it. What exceeds the bound is read and dropped, so that
// the program never waits.
bool ReadSome(int fd, size_t max_bytes, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count < 0) return errno != EINTR && errno != EAGAIN;
  const size_t room = max_bytes - text.size();
  text.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
  return count == 0;
}

ProgramEnd EndOf(const siginfo_t& status, ProgramEnd end) {
  const bool has_exited = status.si_code == CLD_EXITED;
  end.how = has_exited ? ProgramEnd::How::kExited : ProgramEnd::How::kSignalled;
  end.number = status.si_status;
  return end;
}

bool IsProgram(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string FindProgram(const std::string& name) {
  namespace fs = std::filesystem;
  if (name.find('/') != std::string::npos) {
    return IsProgram(name) ? fs::absolute(name).string() : "";
  }
  std::istringstream folders(VariableOr("PATH", ""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path path = fs::path(folder) / name;
    if (!folder.empty() && IsProgram(path)) return fs::absolute(path).string();
  }
  return "";
}

std::string LastLineOf(std::string_view log) {
  const size_t end = log.find_last_not_of("\r\n \t");
  if (end == std::string_view::npos) return "";
  log = log.substr(0, end + 1);
  const size_t newline = log.rfind('\n');
  return Excerpt(newline == std::string_view::npos ? log : log.substr(newline + 1));
}

Result<ProgramEnd> RunToEnd(const ProgramCommand& command) {
  ATTUNE_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  ATTUNE_ASSIGN_OR_RETURN(Pipe log, MakePipe());
  const int64_t end_ns = SteadyNowNs() + command.deadline_ns;
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ProgramGroup> group, ProgramGroup::Make());
  const int error = group->Start(command, out.write_end.get(), log.write_end.get());
  if (error != 0) {
    return Unavailable(
        fmt::format("Cannot start '{}': {}.", command.words.front(), strerror(error)));
  }
  out.write_end.Reset();
  log.write_end.Reset();
  ProgramEnd end;
  std::array<pollfd, 3> sources = {pollfd{out.read_end.get(), POLLIN, 0},
                                   pollfd{log.read_end.get(), POLLIN, 0}, pollfd{-1, POLLIN, 0}};
  const auto read = [&](pollfd& source, std::string& text) {
    const bool is_over = source.revents != 0 && ReadSome(source.fd, command.max_output_bytes, text);
    if (is_over) source.fd = -1;
  };
  int64_t held_until_ns = 0;  // Unknown while it runs.
  for (siginfo_t status; SteadyNowNs() < end_ns;) {
    const bool is_read = sources[0].fd < 0 && sources[1].fd < 0;
    if (group->HasEnded(status)) {
      if (held_until_ns == 0) held_until_ns = SteadyNowNs() + kHeldOutputNs;
      if (is_read || SteadyNowNs() >= held_until_ns) return EndOf(status, std::move(end));
    }
    // Not before: what it has started may hold its output when it has ended.
    if (is_read) sources[2].fd = group->ended_fd();
    if (command.go_on != nullptr && !command.go_on()) {
      end.how = ProgramEnd::How::kStopped;
      return end;
    }
    const int64_t left_ms = (end_ns - SteadyNowNs()) / kNsPerMs + 1;
    ::poll(sources.data(), sources.size(), static_cast<int>(std::min(left_ms, kLongestPollMs)));
    read(sources[0], end.out);
    read(sources[1], end.log);
  }
  end.how = ProgramEnd::How::kLate;
  return end;
}

Result<ProgramOutput> RunProgram(const ProgramCommand& command) {
  ATTUNE_ASSIGN_OR_RETURN(ProgramEnd end, RunToEnd(command));
  const std::string& program = command.words.front();
  switch (end.how) {
    case ProgramEnd::How::kExited:
      return ProgramOutput{end.number, std::move(end.out), std::move(end.log)};
    case ProgramEnd::How::kSignalled:
      return Unavailable(fmt::format("'{}' was killed by signal {} ({}).\n{}", program, end.number,
                                     strsignal(end.number), end.log));
    case ProgramEnd::How::kLate:
      return DeadlineExceeded(fmt::format("'{}' was killed: it had not ended after {:.3g} s.",
                                          program,
                                          static_cast<double>(command.deadline_ns) / kNsPerSecond));
    case ProgramEnd::How::kStopped:
      break;
  }
  return DeadlineExceeded(
      fmt::format("'{}' was killed, because it was to go on no longer.", program));
}

}  // namespace attune
