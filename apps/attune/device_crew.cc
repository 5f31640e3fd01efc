#include "apps/attune/device_crew.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/file.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

constexpr std::string_view kEvery = ":all";
constexpr const char* kOwnArguments = "/proc/self/cmdline";
constexpr int kPollMs = 100;

// Both ends of a pipe, closed in programs that are started.
struct Pipe {
  UniqueFd read;
  UniqueFd write;

  static Result<Pipe> Create() {
    int ends[2] = {};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return Unavailable(fmt::format("Cannot make a pipe: {}.", std::strerror(errno)));
    }
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
};

// Neither Ctrl-C nor SIGTERM reaches this thread as long as this lives.
class InterruptsHeld {
 public:
  InterruptsHeld() {
    sigset_t interrupts;
    ::sigemptyset(&interrupts);
    ::sigaddset(&interrupts, SIGINT);
    ::sigaddset(&interrupts, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &interrupts, &before_);
  }
  ~InterruptsHeld() { LetGo(); }
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;

  // What has come meanwhile comes now.
  void LetGo() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_ = {};
};

// One process, killed with this object if it still runs.
class DeviceProcess {
 public:
  static Result<DeviceProcess> Start(const std::string& program, const std::string& device,
                                     const std::vector<std::string>& arguments) {
    DeviceProcess worker;
    worker.member_.device = device;
    ATTUNE_ASSIGN_OR_RETURN(Pipe output, Pipe::Create());
    ATTUNE_ASSIGN_OR_RETURN(Pipe errors, Pipe::Create());
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"--device", device, "--json"});
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    const InterruptsHeld held;
    worker.pid_ = ::fork();
    if (worker.pid_ < 0) {
      return Unavailable(
          fmt::format("Cannot start a process for {}: {}.", device, std::strerror(errno)));
    }
    if (worker.pid_ == 0) {
      // Until it is the other program it has the handlers of this one, which would note that it was
      // asked to end where nobody looks any more.
      ::signal(SIGINT, SIG_DFL);
      ::signal(SIGTERM, SIG_DFL);
      held.LetGo();
      Become(program.c_str(), parent, output.write.get(), errors.write.get(), pointers.data());
    }
    worker.output_ = std::move(output.read);
    worker.errors_ = std::move(errors.read);
    return worker;
  }

  DeviceProcess(DeviceProcess&& other) noexcept
      : member_(std::move(other.member_)),
        pid_(std::exchange(other.pid_, -1)),
        output_(std::move(other.output_)),
        errors_(std::move(other.errors_)),
        said_(std::move(other.said_)) {}
  DeviceProcess& operator=(DeviceProcess&&) = delete;
  ~DeviceProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  bool is_open() const { return output_.valid() || errors_.valid(); }
  // Negative ones are passed over by poll().
  pollfd output_poll() const { return {output_.valid() ? output_.get() : -1, POLLIN, 0}; }
  pollfd errors_poll() const { return {errors_.valid() ? errors_.get() : -1, POLLIN, 0}; }

  void ReadOutput() { Read(output_, member_.output); }
  void ReadErrors(Output& err) {
    Read(errors_, said_);
    for (size_t end; (end = said_.find('\n')) != std::string::npos; said_.erase(0, end + 1)) {
      Say(said_.substr(0, end), err);
    }
    if (errors_.valid() || said_.empty()) return;
    Say(std::exchange(said_, ""), err);
  }

  void AskToEnd() const { ::kill(pid_, SIGINT); }

  // REQUIRES: !is_open().
  CrewMember Finish() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;
    member_.exit_status =
        WIFSIGNALED(status) ? CrewMember::kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
    return std::move(member_);
  }

 private:
  DeviceProcess() = default;

  // In the new process: nothing but what is allowed between fork and exec.
  [[noreturn]] static void Become(const char* program, pid_t parent, int output, int errors,
                                  char* const* arguments) {
    // A group of its own, so that Ctrl-C reaches it once, through this program.
    ::setpgid(0, 0);
    // With that program gone nobody hears what it finds, and a signal that asks it to end would let
    // it finish what it has begun, for minutes. What it has stored stays, as after any kill.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool wired = ::getppid() == parent && ::dup2(output, STDOUT_FILENO) >= 0 &&
                       ::dup2(errors, STDERR_FILENO) >= 0;
    if (wired) ::execv(program, arguments);
    ::_exit(127);
  }

  static void Read(UniqueFd& from, std::string& into) {
    constexpr size_t kBlockBytes = 65536;
    const size_t before = into.size();
    into.resize(before + kBlockBytes);
    const ssize_t count = ::read(from.get(), into.data() + before, kBlockBytes);
    into.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0 || (count < 0 && errno != EINTR)) from.Reset();
  }

  void Say(std::string line, Output& err) {
    err.Print(fmt::format("{}: {}\n", member_.device, Printable(line)));
    err.Flush();
    if (!line.empty()) member_.last_words = std::move(line);
  }

  CrewMember member_;
  pid_t pid_ = -1;
  UniqueFd output_;
  UniqueFd errors_;
  std::string said_;  // A line that has not ended yet.
};

// Passes on what the workers say until all of them have closed their pipes.
void Listen(std::vector<DeviceProcess>& workers, Output& err,
            const std::function<bool()>& stop_requested,
            const std::function<bool()>& stop_at_once) {
  bool has_asked = false;
  bool has_asked_twice = false;
  while (std::any_of(workers.begin(), workers.end(),
                     [](const DeviceProcess& w) { return w.is_open(); })) {
    if (!has_asked && stop_requested()) {
      has_asked = true;
      for (const DeviceProcess& worker : workers) worker.AskToEnd();
    }
    if (!has_asked_twice && stop_at_once != nullptr && stop_at_once()) {
      has_asked_twice = true;
      for (const DeviceProcess& worker : workers) worker.AskToEnd();
    }
    std::vector<pollfd> polled;
    for (const DeviceProcess& worker : workers) {
      polled.push_back(worker.output_poll());
      polled.push_back(worker.errors_poll());
    }
    if (::poll(polled.data(), polled.size(), kPollMs) <= 0) continue;
    for (size_t i = 0; i < workers.size(); ++i) {
      if (polled[2 * i].revents != 0) workers[i].ReadOutput();
      if (polled[2 * i + 1].revents != 0) workers[i].ReadErrors(err);
    }
  }
}

}  // namespace

bool MeansEveryDevice(std::string_view device) {
  return device.ends_with(kEvery) && device.size() > kEvery.size();
}

Result<std::vector<std::string>> UsableDevices(const BackendList& backends,
                                               std::string_view device) {
  const std::string_view name = device.substr(0, device.size() - kEvery.size());
  std::vector<std::string> usable;
  std::string reasons;
  // The host first, whose only device has another name: no further backend is asked for it.
  for (const auto& backend : backends) {
    const bool is_only_device = backend == backends.front() && backend->Devices().size() == 1 &&
                                backend->Devices().front().spec == name;
    if (backend->name() != name && !is_only_device) continue;
    for (const DeviceReport& report : backend->Devices()) {
      if (report.reason.empty()) {
        usable.push_back(report.spec);
      } else {
        reasons += fmt::format(" {}: {}", report.spec, report.reason);
      }
    }
  }
  if (!usable.empty()) return usable;
  if (!reasons.empty()) {
    return Unavailable(fmt::format("No device of '{}' can be used.{}", name, reasons));
  }
  return NoDeviceOf(backends, name);
}

Result<std::vector<std::string>> ArgumentsForEachDevice() {
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFile(kOwnArguments));
  std::vector<std::string> arguments;
  bool is_name = true;
  bool is_device = false;
  for (size_t at = 0; at < content.size();) {
    const size_t end = std::min(content.find('\0', at), content.size());
    std::string word = content.substr(at, end - at);
    at = end + 1;
    if (std::exchange(is_name, false) || std::exchange(is_device, false)) continue;
    is_device = word == "--device";
    if (is_device || word.starts_with("--device=") || word == "--json") continue;
    arguments.push_back(std::move(word));
  }
  return arguments;
}

Result<std::vector<CrewMember>> RunCrew(const std::vector<std::string>& devices,
                                        const std::vector<std::string>& arguments, Output& err,
                                        const std::function<bool()>& stop_requested,
                                        const std::function<bool()>& stop_at_once) {
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path file,
                          FileMappedAt(reinterpret_cast<const void*>(&RunCrew)));
  const std::string program = file.string();
  std::vector<DeviceProcess> workers;
  for (const std::string& device : devices) {
    ATTUNE_ASSIGN_OR_RETURN(DeviceProcess worker, DeviceProcess::Start(program, device, arguments));
    workers.push_back(std::move(worker));
  }
  Listen(workers, err, stop_requested, stop_at_once);
  std::vector<CrewMember> members;
  for (DeviceProcess& worker : workers) members.push_back(worker.Finish());
  return members;
}

}  // namespace attune
