#include "runtime/tuner_client.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/child_environment.h"
#include "attune/base/code_folder.h"
#include "attune/base/guest_thread.h"
#include "attune/base/open_file.h"
#include "attune/base/process_room.h"
#include "attune/base/signals_blocked.h"
#include "attune/base/spawn_settings.h"
#include "attune/base/steady_time.h"
#include "attune/base/usable_cores.h"

namespace attune {
namespace {

constexpr const char* kProgramName = "attune-tuner";
constexpr size_t kLongestAnswerBytes = 1 << 20;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr std::chrono::milliseconds kEndPatience{1000};

// Gives this thread its own descriptor table: /dev/null as 0 to 2 and no files of the program,
// which would stay open here. If the system refuses, the thread shares the program's descriptors.
void LeaveDescriptors() {
  if (::syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_UNSHARE) != 0) return;
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) (void)::open("/dev/null", O_RDWR);
}

// Spawns with descriptors 0 and 1 on `socket` and nothing else open but 2.
int Spawn(const std::vector<std::string>& arguments, int socket, pid_t* pid) {
  SpawnSettings settings;
  ::posix_spawn_file_actions_adddup2(settings.actions(), socket, 0);
  ::posix_spawn_file_actions_adddup2(settings.actions(), socket, 1);
  ::posix_spawn_file_actions_addclosefrom_np(settings.actions(), 3);
  // The tuner must not keep a folder of the program in use.
  ::posix_spawn_file_actions_addchdir_np(settings.actions(), "/");
  std::vector<std::string> environment = EnvironmentForChild(OurPreload::kDropped);
  return settings.Spawn(arguments, PointersTo(environment).data(), pid);
}

// Ok if the limits of this process, which the tuner inherits, leave the tuner enough.
Status CheckRoom() {
  if (AddressRoom() != kUnlimitedRoom) {
    return ResourceExhausted(
        "cannot start the tuner: the address space is limited (ulimit -v, -d or -l), and some "
        "libraries fail under such a limit");
  }
  if (MemoryRoom() != kUnlimitedRoom && EndsTogether()) {
    return ResourceExhausted(
        "cannot start the tuner: if memory ran out, the kernel would end every process of the "
        "cgroup (memory.oom.group is 1). Tune in a container of its own with 'attune tune'");
  }
  // One worker process per core, each with the threads of a few libraries.
  const auto cores = static_cast<uint64_t>(UsableCores());
  const uint64_t threads = (cores + 1) * (2 * cores + 2);
  constexpr uint64_t kMemoryBytes = uint64_t{1} << 30;
  if (ThreadRoom() < threads + kThreadReserve) {
    return ResourceExhausted(fmt::format(
        "cannot start the tuner: the limits of this process (pids cgroup, ulimit -u) leave {} "
        "threads, less than {}",
        ThreadRoom(), threads + kThreadReserve));
  }
  if (MemoryRoom() < kMemoryBytes) {
    return ResourceExhausted(
        fmt::format("cannot start the tuner: the memory cgroup leaves {} bytes, less than {}",
                    MemoryRoom(), kMemoryBytes));
  }
  return Status::Ok();
}

// Whether nobody holds the other end of `socket`, or comes to within `wait_ms`.
bool HasHungUp(int socket, int wait_ms) {
  pollfd end{socket, 0, 0};
  if (::poll(&end, 1, wait_ms) <= 0) return false;
  return (end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

// How long the tuner rests after this answer, a day at most.
int64_t RestNsIn(const nlohmann::json& answer) {
  constexpr int64_t kLongestMs = 86'400'000;
  const auto rest = answer.find("rest_ms");
  if (rest == answer.end() || !rest->is_number_integer()) return 0;
  return std::clamp<int64_t>(rest->get<int64_t>(), 0, kLongestMs) * kNsPerMs;
}

std::string TextIn(const nlohmann::json& answer, const char* field, const char* otherwise) {
  const auto found = answer.find(field);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

Status StatusOf(const nlohmann::json& answer) {
  const std::string outcome = TextIn(answer, "outcome", "");
  if (outcome == "tuned" || outcome == "already_tuned") return Status::Ok();
  const std::string message = TextIn(answer, "message", "without a reason");
  if (outcome == "unsupported") return Unsupported(message);
  return Internal(fmt::format("The tuner failed: {}", message));
}

}  // namespace

Result<std::filesystem::path> FindTunerProgram() {
  auto found = FindOwnProgram(kProgramName, "ATTUNE_TUNER");
  if (found.ok()) return found;
  return Status(found.error().code(),
                fmt::format("Cannot find the tuner: {} Or set ATTUNE_TUNER to its absolute path.",
                            found.error().message()));
}

TunerClient::TunerClient(TunerClientOptions options)
    : options_(std::move(options)), maker_(::getpid()) {}

TunerClient::~TunerClient() {
  Stop(kEndPatience);
  if (!thread_.joinable()) return;
  if (maker_ == ::getpid()) {
    thread_.join();
  } else {
    thread_.detach();
    // It refers to a thread that this process lacks.
    (void)work_changed_.release();
  }
}

void TunerClient::Stop(std::chrono::milliseconds patience) {
  if (maker_ != ::getpid()) return;
  is_stopped_ = true;
  std::unique_lock<std::mutex> lock(work_mutex_);
  work_changed_->notify_all();
  if (work_changed_->wait_for(lock, patience, [this] { return !is_working_; })) {
    // It takes the mutex no more.
    if (thread_.joinable()) thread_.join();
    return;
  }
  // The thread waits for a busy core or a disk. The system does not reuse a group ID within
  // kSurelyTheSameNs.
  constexpr int64_t kSurelyTheSameNs = 1'000'000'000;
  const int group = known_group_;
  if (group > 0 && SteadyNowNs() - known_ns_ < kSurelyTheSameNs) ::kill(-group, SIGKILL);
}

bool TunerClient::DoThere(const std::function<void()>& work) {
  if (maker_ != ::getpid()) return false;
  std::unique_lock<std::mutex> lock(work_mutex_);
  if (!thread_.joinable() && !is_stopped_) {
    try {
      const SignalsBlocked blocked;
      thread_ = std::thread([this] { WorkThere(); });
    } catch (const std::system_error&) {
      return false;
    }
    is_working_ = true;
  }
  if (!is_working_) return false;
  work_ = &work;
  work_changed_->notify_all();
  work_changed_->wait(lock, [this] { return work_ == nullptr || !is_working_; });
  return std::exchange(work_, nullptr) == nullptr;
}

void TunerClient::WorkThere() {
  const bool is_prepared = PrepareForExceptions();
  if (is_prepared) LeaveDescriptors();
  std::unique_lock<std::mutex> lock(work_mutex_);
  while (is_prepared) {
    work_changed_->wait(lock, [this] { return is_stopped_ || work_ != nullptr; });
    if (is_stopped_) break;
    const std::function<void()>& work = *work_;
    lock.unlock();
    try {
      work();
    } catch (...) {
      // Most likely out of memory. The work has not set its result.
    }
    lock.lock();
    work_ = nullptr;
    work_changed_->notify_all();
  }
  lock.unlock();
  End(kEndPatience);
  socket_.Reset();
  lock.lock();
  is_working_ = false;
  work_changed_->notify_all();
}

Status TunerClient::CheckSocket() {
  if (is_stopped_) return Unavailable("The run time is being closed.");
  if (!has_lost_socket_ && socket_.is_ours()) return Status::Ok();
  has_lost_socket_ = true;
  return Unavailable(
      "cannot tune in this process any more: the program closed the connection to the tuner or "
      "reused its descriptor");
}

// Returns true if the started process is gone.
bool TunerClient::ReapStarter() {
  // If the program waits for children of any kind, it may have been first.
  if (!is_reaped_) is_reaped_ = ::waitpid(group_, nullptr, WNOHANG) != 0;
  return is_reaped_;
}

void TunerClient::End(std::chrono::milliseconds patience) {
  if (group_ <= 0) return;
  known_group_ = -1;
  if (!socket_.is_ours()) {
    // Without the socket the owner of the group ID is unknown. The tuner ends by itself, because
    // its connection is closed.
    (void)ReapStarter();
    group_ = -1;
    return;
  }
  // While somebody holds the other end, the group exists, so its number is not another's.
  const bool was_alive = !HasHungUp(socket_.get(), 0) || !ReapStarter();
  // What it has stored is on the disk, so there is nothing to say goodbye to.
  if (was_alive) ::kill(-group_, SIGKILL);
  // It dies when it next gets a processor, which at its priority may take a while.
  constexpr int kPollMs = 4;
  for (int64_t waited_ms = 0; waited_ms < patience.count(); waited_ms += kPollMs) {
    if (!socket_.is_ours()) break;
    if (!HasHungUp(socket_.get(), kPollMs)) continue;
    if (ReapStarter()) break;
    // It closes its files a moment before it can be reaped.
    ::poll(nullptr, 0, kPollMs);
  }
  group_ = -1;
  if (socket_.is_ours()) ::shutdown(socket_.get(), SHUT_RDWR);
}

Status TunerClient::Start() {
  if (is_stopped_ || has_lost_socket_ || group_ > 0) return CheckSocket();
  ATTUNE_RETURN_IF_ERROR(CheckRoom());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Unavailable(fmt::format("Cannot make a socket pair: {}.", std::strerror(errno)));
  }
  socket_ = AboveStandard(UniqueFd(ends[0]));
  const UniqueFd theirs = AboveStandard(UniqueFd(ends[1]));
  const std::vector<std::string> arguments = {options_.program.string(),
                                              "--db",
                                              options_.database,
                                              "--device",
                                              options_.device,
                                              "--scope",
                                              std::string(Name(options_.scope)),
                                              "--per-problem",
                                              fmt::format("{}ms", options_.per_problem_ms),
                                              "--cpu-share",
                                              fmt::format("{}", options_.cpu_share)};
  is_reaped_ = false;
  const int error = Spawn(arguments, theirs.get(), &group_);
  if (error == 0) {
    known_ns_ = SteadyNowNs();
    known_group_ = group_;
    return Status::Ok();
  }
  group_ = -1;
  return Unavailable(
      fmt::format("Cannot start '{}': {}.", options_.program.string(), std::strerror(error)));
}

Status TunerClient::Tune(const TunerRequest& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (options_.budget_ms > 0 && spent_ns_ >= options_.budget_ms * kNsPerMs) {
    return ResourceExhausted(
        fmt::format("The {} ms for tuning in the background are spent.", options_.budget_ms));
  }
  const int64_t begin_ns = SteadyNowNs();
  const int64_t rest_ns = std::max<int64_t>(rest_end_ns_ - begin_ns, 0);
  Status status = Unavailable("The run time is being closed, or no thread can be started.");
  (void)DoThere([&] {
    status = Start();
    if (status.ok()) status = Ask(request, rest_ns);
    // The tuner is dead or unresponsive: the next problem starts a new process.
    const bool is_gone =
        status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
    if (!is_gone) return;
    rest_end_ns_ = 0;
    End(kEndPatience);
  });
  spent_ns_ += std::max<int64_t>(SteadyNowNs() - begin_ns - rest_ns, 0);
  return status;
}

Status TunerClient::Ask(const TunerRequest& request, int64_t rest_ns) {
  const std::string line = Encode(request) + "\n";
  ATTUNE_RETURN_IF_ERROR(CheckSocket());
  // A peer that is gone is an error, not a signal.
  if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return Unavailable(fmt::format("Cannot talk to the tuner: {}.", std::strerror(errno)));
  }
  received_.clear();
  const int64_t patience_ms = 10 * options_.per_problem_ms + options_.patience_ms;
  ATTUNE_RETURN_IF_ERROR(AwaitAnswer(SteadyNowNs() + rest_ns + patience_ms * kNsPerMs)
                             .WithContext(fmt::format("Tuning {}", Text(request.problem))));
  const std::string said = received_.substr(0, received_.find('\n'));
  const auto answer = nlohmann::json::parse(said, nullptr, false);
  if (!answer.is_object()) {
    return Internal(fmt::format("The tuner answered '{}', which is no JSON object.", said));
  }
  rest_end_ns_ = SteadyNowNs() + RestNsIn(answer);
  return StatusOf(answer);
}

Status TunerClient::AwaitAnswer(int64_t deadline_ns) {
  while (received_.find('\n') == std::string::npos) {
    const int64_t left_ms = (deadline_ns - SteadyNowNs()) / kNsPerMs;
    if (left_ms <= 0) return DeadlineExceeded("The tuner did not answer in time and was killed.");
    ATTUNE_RETURN_IF_ERROR(CheckSocket());
    pollfd ready{socket_.get(), POLLIN, 0};
    // Polls, because no event signals the end of the started process or a stop request. The started
    // process ends within milliseconds.
    const int64_t longest_ms = group_ > 0 && !ReapStarter() ? 5 : 25;
    const int arrived = ::poll(&ready, 1, static_cast<int>(std::min(left_ms, longest_ms)));
    if (arrived == 0) known_ns_ = SteadyNowNs();
    if (arrived <= 0) continue;
    ATTUNE_RETURN_IF_ERROR(CheckSocket());
    char buffer[4096];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return Unavailable("The tuner ended before it answered.");
    received_.append(buffer, static_cast<size_t>(count));
    if (received_.size() > kLongestAnswerBytes) {
      return Unavailable(
          fmt::format("The tuner answered more than {} bytes.", kLongestAnswerBytes));
    }
  }
  return Status::Ok();
}

}  // namespace attune
