#include "attune/base/program_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/child_environment.h"
#include "attune/base/code_folder.h"
#include "attune/base/open_file.h"
#include "attune/base/process_variables.h"
#include "attune/base/reaper_report.h"
#include "attune/base/spawn_settings.h"
#include "attune/base/steady_time.h"
#include "attune/base/text.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr double kNsPerSecond = 1e9;
constexpr const char* kReaperName = "attune-reaper";
// How often go_on is asked.
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
  return Pipe{AboveStandard(UniqueFd(ends[0])), AboveStandard(UniqueFd(ends[1]))};
}

// The ends of one connection.
struct Sockets {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<Sockets> MakeSockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Unavailable(fmt::format("Cannot make a pair of sockets: {}.", strerror(errno)));
  }
  return Sockets{AboveStandard(UniqueFd(ends[0])), AboveStandard(UniqueFd(ends[1]))};
}

Status CannotStart(const std::string& program, int error) {
  return Unavailable(fmt::format("Cannot start '{}': {}.", program, strerror(error)));
}

// "NAME=VALUE" of this process, with `variables` in the place of those of their names.
std::vector<std::string> EntriesWith(const ProcessVariables& variables) {
  std::vector<std::string> entries = EnvironmentForChild(OurPreload::kKept);
  std::erase_if(entries, [&](const std::string& entry) {
    return variables.contains(entry.substr(0, entry.find('=')));
  });
  for (const auto& [name, value] : variables) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

// attune-reaper, which runs a program and ends all that came of it once this process wants that, or
// has ended, however: a signal for the death of a parent (prctl) would reach that program alone,
// and a process group not what leaves it.
class ReapedProgram {
 public:
  static Result<std::unique_ptr<ReapedProgram>> Start(const ProgramCommand& command, int out,
                                                      int log) {
    ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path reaper, FindOwnProgram(kReaperName));
    ATTUNE_ASSIGN_OR_RETURN(Sockets alive, MakeSockets());
    ATTUNE_ASSIGN_OR_RETURN(Pipe report, MakePipe());
    SpawnSettings settings;
    const std::array<std::pair<int, int>, 4> descriptors = {
        std::pair(alive.theirs.get(), kReaperAliveFd), std::pair(out, 1), std::pair(log, 2),
        std::pair(report.write_end.get(), kReaperReportFd)};
    for (const auto& [ours, its] : descriptors) {
      ::posix_spawn_file_actions_adddup2(settings.actions(), ours, its);
    }
    ::posix_spawn_file_actions_addclosefrom_np(settings.actions(), kReaperReportFd + 1);
    ::posix_spawn_file_actions_addchdir_np(settings.actions(), "/");
    std::vector<std::string> entries = EntriesWith(command.variables);
    std::vector<std::string> words = {reaper.string(), command.folder.string()};
    words.insert(words.end(), command.words.begin(), command.words.end());
    pid_t pid = -1;
    const int error = settings.Spawn(words, PointersTo(entries).data(), &pid);
    if (error != 0) return CannotStart(words.front(), error);
    return std::make_unique<ReapedProgram>(pid, std::move(alive.ours), std::move(report.read_end));
  }

  ReapedProgram(pid_t reaper, UniqueFd alive, UniqueFd report)
      : reaper_(reaper), alive_(std::move(alive)), report_(std::move(report)) {}
  ReapedProgram(const ReapedProgram&) = delete;
  ReapedProgram& operator=(const ReapedProgram&) = delete;
  ~ReapedProgram() { (void)End(); }

  // Can be read once the program has ended.
  int report_fd() const { return report_.get(); }
  // REQUIRES: report_fd() can be read. Nothing if the reaper was killed.
  std::optional<ReaperReport> ReadReport() const {
    ReaperReport report;
    const ssize_t count = ::read(report_.get(), &report, sizeof(report));
    if (count != sizeof(report)) return std::nullopt;
    return report;
  }

  // Kills all that is left of it. Whether that is gone.
  bool End() {
    if (!alive_.valid()) return true;
    // A process that somebody forks of this one keeps it open, and does not know of it.
    ::shutdown(alive_.get(), SHUT_RDWR);
    alive_.Reset();
    const int status = AwaitReaper();
    return !WIFEXITED(status) || WEXITSTATUS(status) != kReaperLeftSomething;
  }

 private:
  // Its wait status; 0 if somebody else in this process has waited for it.
  int AwaitReaper() const {
    for (;;) {
      int status = 0;
      const pid_t changed = ::waitpid(reaper_, &status, WUNTRACED);
      if (changed < 0 && errno == EINTR) continue;
      if (changed < 0) return 0;
      if (!WIFSTOPPED(status)) return status;
      // A program may stop it, and would not be ended then.
      ::kill(reaper_, SIGCONT);
    }
  }

  const pid_t reaper_;
  UniqueFd alive_;  // Closed by the end of this process at the latest.
  const UniqueFd report_;
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

Result<ProgramEnd> EndOf(const ProgramCommand& command, const std::optional<ReaperReport>& report,
                         ProgramEnd end) {
  const std::string& program = command.words.front();
  if (!report.has_value()) {
    return Unavailable(
        fmt::format("Nobody knows how '{}' ended: its {} was killed.", program, kReaperName));
  }
  if (report->how == ReaperReport::How::kUnstarted) return CannotStart(program, report->number);
  const bool has_exited = report->how == ReaperReport::How::kExited;
  end.how = has_exited ? ProgramEnd::How::kExited : ProgramEnd::How::kSignalled;
  end.number = report->number;
  return end;
}

// Until it has ended and its output was read, or is to be killed.
Result<ProgramEnd> Watch(const ProgramCommand& command, const ReapedProgram& program, Pipe& out,
                         Pipe& log, int64_t end_ns) {
  ProgramEnd end;
  std::array<pollfd, 3> sources = {pollfd{out.read_end.get(), POLLIN, 0},
                                   pollfd{log.read_end.get(), POLLIN, 0},
                                   pollfd{program.report_fd(), POLLIN, 0}};
  const auto read = [&](pollfd& source, std::string& text) {
    const bool is_over = source.revents != 0 && ReadSome(source.fd, command.max_output_bytes, text);
    if (is_over) source.fd = -1;
  };
  std::optional<ReaperReport> report;
  int64_t held_until_ns = 0;  // Unknown while it runs.
  while (SteadyNowNs() < end_ns) {
    const bool is_read = sources[0].fd < 0 && sources[1].fd < 0;
    const bool has_ended = sources[2].fd < 0;
    if (has_ended && (is_read || SteadyNowNs() >= held_until_ns)) {
      return EndOf(command, report, std::move(end));
    }
    if (command.go_on != nullptr && !command.go_on()) {
      end.how = ProgramEnd::How::kStopped;
      return end;
    }
    // Nothing is left where go_on took long, and less than nothing would be for ever.
    const int64_t left_ms = (end_ns - SteadyNowNs()) / kNsPerMs + 1;
    const int64_t wait_ms = std::clamp<int64_t>(left_ms, 0, kLongestPollMs);
    ::poll(sources.data(), sources.size(), static_cast<int>(wait_ms));
    read(sources[0], end.out);
    read(sources[1], end.log);
    if (sources[2].revents == 0) continue;
    report = program.ReadReport();
    sources[2] = {-1, 0, 0};
    held_until_ns = SteadyNowNs() + kHeldOutputNs;
  }
  // Only what it has left running was late.
  if (sources[2].fd < 0) return EndOf(command, report, std::move(end));
  end.how = ProgramEnd::How::kLate;
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
    // Skips relative folders, because any user may control them.
    const fs::path path = fs::path(folder) / name;
    if (path.is_absolute() && IsProgram(path)) return path.string();
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
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ReapedProgram> program,
                          ReapedProgram::Start(command, out.write_end.get(), log.write_end.get()));
  out.write_end.Reset();
  log.write_end.Reset();
  auto end = Watch(command, *program, out, log, end_ns);
  if (program->End()) return end;
  return Unavailable(
      fmt::format("'{}' has left a process behind that no signal ends.", command.words.front()));
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
