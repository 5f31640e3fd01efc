#include "attune/tuner/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "attune/base/child_environment.h"
#include "attune/base/open_file.h"
#include "attune/base/spawn_settings.h"
#include "attune/base/steady_time.h"
#include "attune/tuner/evaluation_server.h"

extern char** environ;

namespace attune {
namespace {

constexpr size_t kOutputTailBytes = 4096;
constexpr int kWatchIntervalMs = 20;
// A candidate that is being timed has passed its memory test; waking up less often disturbs it
// less.
constexpr int kWatchIntervalWhileMeasuringMs = 250;
constexpr int64_t kHelloDeadlineNs = 20'000'000'000;
constexpr int kExitPatienceMs = 1000;
constexpr const char* kNoConnection = "This program has closed the connection to it.";
constexpr int kMaxOutputReads = 64;
constexpr std::streamsize kLongestLine = 4096;  // Of /proc/PID/status.

// Returns the environment of a helper, with the names in `variables` replaced by these.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& variables) {
  std::vector<std::string> entries = EnvironmentForChild(OurPreload::kDropped);
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(entries, [&](const std::string& entry) { return entry.starts_with(name); });
  }
  entries.insert(entries.end(), variables.begin(), variables.end());
  return entries;
}

// Descriptors of the parent become those that the protocol names; posix_spawn's error number.
// REQUIRES: all above kEvaluationSocketFd, so that no dup2 overwrites a source.
int StartProgram(const std::vector<std::string>& command, char* const* variables, int socket,
                 int output, pid_t* pid) {
  SpawnSettings settings;
  ::posix_spawn_file_actions_addopen(settings.actions(), 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(settings.actions(), output, 1);
  ::posix_spawn_file_actions_adddup2(settings.actions(), output, 2);
  ::posix_spawn_file_actions_adddup2(settings.actions(), socket, kEvaluationSocketFd);
  ::posix_spawn_file_actions_addclosefrom_np(settings.actions(), kEvaluationSocketFd + 1);
  return settings.Spawn(command, variables, pid);
}

// Moves a descriptor above those that the protocol fixes.
Result<UniqueFd> Raised(UniqueFd fd) {
  const int raised = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, kEvaluationSocketFd + 1);
  if (raised < 0) return Unavailable(fmt::format("Cannot duplicate a file: {}.", strerror(errno)));
  return UniqueFd(raised);
}

void AppendTail(std::string& tail, std::string_view text) {
  tail += text;
  if (tail.size() > kOutputTailBytes) tail.erase(0, tail.size() - kOutputTailBytes);
}

void AppendSentence(std::string& text, std::string_view sentence) {
  if (!text.empty()) text += ' ';
  text += sentence;
}

std::string DescribeExit(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return fmt::format("Killed by signal {} ({}).", signal, strsignal(signal));
  }
  return fmt::format("Ended with exit status {}.", WEXITSTATUS(wait_status));
}

TuningStep StepOf(Phase phase) {
  switch (phase) {
    case Phase::kBuild:
      return TuningStep::kCompile;
    case Phase::kLoad:
      return TuningStep::kLoad;
    case Phase::kRun:
    case Phase::kVerify:
      return TuningStep::kVerify;
    case Phase::kMeasure:
      return TuningStep::kTime;
  }
  return TuningStep::kVerify;
}

// The candidate that a request is about; empty for the others.
std::string CandidateOf(const Request& request, const std::vector<std::string>& loaded) {
  if (const auto* qualify = std::get_if<QualifyRequest>(&request)) return qualify->candidate;
  if (const auto* load = std::get_if<LoadRequest>(&request)) return load->candidate;
  if (const auto* compile = std::get_if<CompileRequest>(&request)) return compile->candidate;
  const auto* time = std::get_if<TimeRequest>(&request);
  return time != nullptr && time->index < loaded.size() ? loaded[time->index] : "";
}

}  // namespace

Result<ChildProcess> ChildProcess::Spawn(const ChildOptions& options,
                                         const std::vector<std::string>& arguments) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return Unavailable(fmt::format("Cannot make a socket pair: {}.", strerror(errno)));
  }
  UniqueFd parent_socket = AboveStandard(UniqueFd(sockets[0]));
  ATTUNE_ASSIGN_OR_RETURN(const UniqueFd child_socket, Raised(UniqueFd(sockets[1])));
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return Unavailable(fmt::format("Cannot make a pipe: {}.", strerror(errno)));
  }
  UniqueFd output = AboveStandard(UniqueFd(pipe_ends[0]));
  ATTUNE_ASSIGN_OR_RETURN(const UniqueFd child_output, Raised(UniqueFd(pipe_ends[1])));

  pid_t pid = -1;
  std::vector<std::string> command = {options.program.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> entries = EnvironmentWith(options.variables);
  const int error = StartProgram(command, PointersTo(entries).data(), child_socket.get(),
                                 child_output.get(), &pid);
  if (error != 0) {
    return Unavailable(
        fmt::format("Cannot start '{}': {}.", options.program.string(), strerror(error)));
  }
  return ChildProcess(options, pid, std::move(parent_socket), std::move(output));
}

Status ChildProcess::Greet(const Assignment& assignment) {
  options_.memory_limit_bytes = assignment.memory_limit_bytes;
  HelloRequest hello;
  hello.device = options_.device;
  hello.problem = assignment.problem;
  hello.rotation_bytes = assignment.terms.rotation_bytes;
  hello.warm_up_launches = assignment.terms.warm_up_launches;
  hello.warm_up_ns = assignment.terms.warm_up_ns;
  const int64_t greeted_ns = SteadyNowNs();
  const auto reply = Ask(hello, assignment.data_fd);
  if (!reply) {
    return Unavailable(fmt::format("The evaluator '{}' failed before its first candidate: {}",
                                   options_.program.string(), reply.error().message));
  }
  if (const auto* refused = std::get_if<RefusedReply>(&reply->content)) {
    return Unavailable(fmt::format("The evaluator refuses to work: {}", refused->message));
  }
  // Opening the device is part of the start.
  busy_.intervals.clear();
  busy_.of_device.clear();
  busy_.idle.push_back(IntervalOf(TuningStep::kStart, greeted_ns, SteadyNowNs()));
  return Status::Ok();
}

tl::expected<Reply, Failure> ChildProcess::AskForReference(const std::string& problem,
                                                           int data_fd) {
  ReferenceRequest request;
  request.device = options_.device;
  request.problem = problem;
  return Ask(request, data_fd);
}

ChildProcess::ChildProcess(const ChildOptions& options, pid_t pid, UniqueFd socket, UniqueFd output)
    : options_(options),
      pid_(pid),
      socket_(std::move(socket)),
      output_(std::move(output)),
      go_on_(options.go_on),
      pauses_(std::make_unique<Pauses>()),
      spawned_ns_(SteadyNowNs()) {
  pauses_->process = static_cast<int>(pid);
  pauses_->handle = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : options_(std::move(other.options_)),
      pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      output_(std::move(other.output_)),
      received_(std::move(other.received_)),
      output_tail_(std::move(other.output_tail_)),
      is_listening_(other.is_listening_),
      phase_(other.phase_),
      phase_begin_ns_(other.phase_begin_ns_),
      deadline_ns_(other.deadline_ns_),
      ready_by_ns_(other.ready_by_ns_),
      was_given_up_(other.was_given_up_),
      go_on_(std::move(other.go_on_)),
      await_turn_(std::move(other.await_turn_)),
      pauses_(std::move(other.pauses_)),
      heard_at_ns_(other.heard_at_ns_),
      spawned_ns_(other.spawned_ns_),
      candidate_(std::move(other.candidate_)),
      loaded_(std::move(other.loaded_)),
      busy_(std::move(other.busy_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  Kill();
  options_ = std::move(other.options_);
  pid_ = std::exchange(other.pid_, -1);
  socket_ = std::move(other.socket_);
  output_ = std::move(other.output_);
  received_ = std::move(other.received_);
  output_tail_ = std::move(other.output_tail_);
  is_listening_ = other.is_listening_;
  phase_ = other.phase_;
  phase_begin_ns_ = other.phase_begin_ns_;
  deadline_ns_ = other.deadline_ns_;
  ready_by_ns_ = other.ready_by_ns_;
  was_given_up_ = other.was_given_up_;
  go_on_ = std::move(other.go_on_);
  await_turn_ = std::move(other.await_turn_);
  pauses_ = std::move(other.pauses_);
  heard_at_ns_ = other.heard_at_ns_;
  spawned_ns_ = other.spawned_ns_;
  candidate_ = std::move(other.candidate_);
  loaded_ = std::move(other.loaded_);
  busy_ = std::move(other.busy_);
  return *this;
}

ChildProcess::~ChildProcess() { Kill(); }

bool ChildProcess::AwaitListening() {
  deadline_ns_ = NowNs() + kHelloDeadlineNs;
  while (!is_listening_ && AwaitMessage()) {
  }
  return is_listening_;
}

tl::expected<Reply, Failure> ChildProcess::Ask(const Request& request) { return Ask(request, -1); }

tl::expected<Reply, Failure> ChildProcess::Ask(const Request& request, int passed_fd) {
  candidate_ = CandidateOf(request, loaded_);
  phase_ = std::holds_alternative<TimeRequest>(request) ? Phase::kMeasure : Phase::kLoad;
  phase_begin_ns_ = 0;
  heard_at_ns_ = SteadyNowNs();
  deadline_ns_ = NowNs() + std::max(kHelloDeadlineNs, DeadlineNs(phase_));
  if (!socket_.is_ours()) return tl::unexpected(Bury(FailureKind::kCrashed, kNoConnection));
  if (const Status sent = WriteFrame(socket_.get(), Encode(request), passed_fd); !sent.ok()) {
    return tl::unexpected(Bury(FailureKind::kCrashed, sent.message()));
  }
  return AwaitAnswer();
}

tl::expected<Reply, Failure> ChildProcess::AwaitAnswer() {
  for (;;) {
    auto reply = AwaitMessage();
    if (!reply) return reply;
    const bool is_answer = !(std::holds_alternative<PhaseReply>(reply->content) ||
                             std::holds_alternative<ListeningReply>(reply->content));
    if (!is_answer) {
      if (auto failure = GiveTurnIfAsked(*reply)) return tl::unexpected(std::move(*failure));
      continue;
    }
    // Whoever answers between two looks at its size may have been too large all the same.
    if (auto failure = BuryIfTooLarge()) return tl::unexpected(std::move(*failure));
    return reply;
  }
}

std::optional<Failure> ChildProcess::GiveTurnIfAsked(const Reply& reply) {
  const auto* phase = std::get_if<PhaseReply>(&reply.content);
  if (!await_turn_ || phase == nullptr || phase->phase != Phase::kMeasure) return std::nullopt;
  await_turn_();
  const int64_t now_ns = SteadyNowNs();
  busy_.idle.push_back(IntervalOf(TuningStep::kWait, phase_begin_ns_, now_ns));
  phase_begin_ns_ = now_ns;
  deadline_ns_ = NowNs() + DeadlineNs(phase_);
  if (WriteFrame(socket_.get(), Encode(TurnRequest{})).ok()) return std::nullopt;
  return Bury(FailureKind::kCrashed, kNoConnection);
}

int64_t ChildProcess::NowNs() const {
  const int64_t now_ns = SteadyNowNs();
  const int64_t begin_ns = pauses_->begin_ns;
  return now_ns - pauses_->paused_ns - (begin_ns == 0 ? 0 : now_ns - begin_ns);
}

void ChildProcess::Pause() {
  if (!pauses_->handle.is_ours() || pauses_->begin_ns != 0) return;
  pauses_->begin_ns = SteadyNowNs();
  ::syscall(SYS_pidfd_send_signal, pauses_->handle.get(), SIGSTOP, nullptr, 0);
}

void ChildProcess::Resume() {
  const int64_t begin_ns = pauses_->begin_ns;
  if (begin_ns == 0) return;
  ::syscall(SYS_pidfd_send_signal, pauses_->handle.get(), SIGCONT, nullptr, 0);
  const int64_t now_ns = SteadyNowNs();
  {
    const std::lock_guard lock(pauses_->mutex);
    pauses_->ended.push_back({begin_ns, now_ns, TuningStep::kWait, {}, pauses_->process});
  }
  pauses_->paused_ns += now_ns - begin_ns;
  pauses_->begin_ns = 0;
}

tl::expected<Reply, Failure> ChildProcess::AwaitMessage() {
  for (;;) {
    auto frame = TakeFrame(received_);
    if (!frame.ok()) return tl::unexpected(Bury(FailureKind::kCrashed, frame.error().message()));
    if (frame->has_value()) {
      auto reply = DecodeReply(**frame);
      if (!reply.ok()) return tl::unexpected(Bury(FailureKind::kCrashed, reply.error().message()));
      NoteDeviceTime(*reply);
      NotePhase(*reply);
      if (std::holds_alternative<ListeningReply>(reply->content)) {
        is_listening_ = true;
        busy_.idle.push_back(
            IntervalOf(TuningStep::kStart, std::min(spawned_ns_, reply->at_ns), reply->at_ns));
      }
      if (std::holds_alternative<LoadedReply>(reply->content)) loaded_.push_back(candidate_);
      return std::move(*reply);
    }
    const int interval_ms =
        phase_ == Phase::kMeasure ? kWatchIntervalWhileMeasuringMs : kWatchIntervalMs;
    const Arrival arrival = ReadAvailable(interval_ms);
    if (arrival == Arrival::kClosed) return tl::unexpected(Bury(FailureKind::kCrashed, ""));
    // An answer that is here is in time, however long this process itself was stopped.
    if (arrival == Arrival::kMessage) continue;
    if (auto failure = BuryIfTooLate()) return tl::unexpected(std::move(*failure));
    if (auto failure = BuryIfStopped()) return tl::unexpected(std::move(*failure));
    if (auto failure = BuryIfTooLarge()) return tl::unexpected(std::move(*failure));
  }
}

ChildProcess::Arrival ChildProcess::ReadAvailable(int timeout_ms) {
  // A negative descriptor, of an output that ended, is passed over.
  pollfd polled[2] = {{socket_.get_if_ours(), POLLIN, 0}, {output_.get_if_ours(), POLLIN, 0}};
  const int arrived = ::poll(polled, 2, timeout_ms);
  // The host program may have taken the descriptor meanwhile.
  if (!socket_.is_ours()) return Arrival::kClosed;
  if (arrived <= 0) return Arrival::kNothing;
  if (polled[1].revents != 0) ReadOutput();
  if (polled[0].revents == 0) return Arrival::kNothing;
  char chunk[4096];
  const ssize_t got = ::read(socket_.get(), chunk, sizeof chunk);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Arrival::kNothing;
  if (got <= 0) return Arrival::kClosed;
  received_.append(chunk, static_cast<size_t>(got));
  return Arrival::kMessage;
}

void ChildProcess::ReadOutput() {
  char chunk[4096];
  // A bounded number of reads: a child that prints without end must still meet its deadline.
  for (int i = 0; i < kMaxOutputReads && output_.is_ours(); ++i) {
    const ssize_t got = ::read(output_.get(), chunk, sizeof chunk);
    if (got == 0) output_.Reset();
    if (got <= 0) return;
    const std::string_view text(chunk, static_cast<size_t>(got));
    AppendTail(output_tail_, text);
    if (options_.on_output != nullptr) options_.on_output(text);
  }
}

void ChildProcess::NoteDeviceTime(const Reply& reply) {
  // No device works longer than it is asked to; a script of the fake one says so all the same.
  const int64_t device_ns = std::min(reply.device_ns, reply.at_ns - heard_at_ns_);
  if (device_ns > 0) busy_.of_device.push_back({reply.at_ns - device_ns, reply.at_ns});
  heard_at_ns_ = reply.at_ns;
}

void ChildProcess::NotePhase(const Reply& reply) {
  EndPhase(reply.at_ns);
  if (const auto* phase = std::get_if<PhaseReply>(&reply.content)) {
    phase_ = phase->phase;
    phase_begin_ns_ = reply.at_ns;
    deadline_ns_ = NowNs() + DeadlineNs(phase_);
  }
}

void ChildProcess::EndPhase(int64_t now_ns) {
  if (phase_begin_ns_ != 0) {
    busy_.intervals.push_back(IntervalOf(StepOf(phase_), phase_begin_ns_, now_ns));
  }
  phase_begin_ns_ = 0;
}

BusyInterval ChildProcess::IntervalOf(TuningStep step, int64_t begin_ns, int64_t end_ns) const {
  return {begin_ns, end_ns, step, candidate_, pauses_->process};
}

int64_t ChildProcess::DeadlineNs(Phase phase) const {
  switch (phase) {
    case Phase::kBuild:
      return options_.build_deadline_ns;
    case Phase::kLoad:
      return options_.load_deadline_ns;
    case Phase::kRun:
    case Phase::kVerify:
    case Phase::kMeasure:
      return options_.run_deadline_ns;
  }
  return options_.run_deadline_ns;
}

int64_t ChildProcess::PeakResidentBytes() const {
  // In kB: the most that it ever had, so that no moment between two looks is missed.
  constexpr std::string_view kPeak = "VmHWM:";
  std::ifstream status(fmt::format("/proc/{}/status", pid_));
  for (std::string name; status >> name; status.ignore(kLongestLine, '\n')) {
    int64_t peak_kib = 0;
    if (name == kPeak && status >> peak_kib) return peak_kib * 1024;
  }
  return 0;
}

std::optional<Failure> ChildProcess::BuryIfTooLate() {
  if (NowNs() > deadline_ns_) {
    return Bury(FailureKind::kTimedOut,
                fmt::format("Phase {} took longer than its deadline ({} ms).", Name(phase_),
                            DeadlineNs(phase_) / 1'000'000));
  }
  const bool makes_ready = phase_ == Phase::kBuild || phase_ == Phase::kLoad;
  if (!makes_ready || SteadyNowNs() <= ready_by_ns_) return std::nullopt;
  was_given_up_ = true;
  return Bury(FailureKind::kTimedOut,
              fmt::format("Phase {} was ended: the time for it was over.", Name(phase_)));
}

std::optional<Failure> ChildProcess::BuryIfStopped() {
  if (!go_on_ || go_on_()) return std::nullopt;
  was_given_up_ = true;
  return Bury(FailureKind::kTimedOut, fmt::format("Phase {} was ended, as asked.", Name(phase_)));
}

std::optional<Failure> ChildProcess::BuryIfTooLarge() {
  const int64_t peak_bytes = PeakResidentBytes();
  const int64_t limit_bytes = options_.memory_limit_bytes;
  if (peak_bytes <= limit_bytes) return std::nullopt;
  return Bury(FailureKind::kOutOfMemory,
              fmt::format("Its process grew to {} bytes ({} MiB), above its memory limit of {} "
                          "bytes ({} MiB). A larger --memory-limit of 'attune tune' lets it run; "
                          "where none is given, fewer --jobs leave more for each.",
                          peak_bytes, peak_bytes >> 20, limit_bytes, limit_bytes >> 20));
}

Failure ChildProcess::Bury(FailureKind kind, std::string message) {
  EndPhase(SteadyNowNs());
  const bool was_dying = kind == FailureKind::kCrashed && AwaitExit();
  ReadAvailable(0);
  const int status = Kill();
  Failure failure{kind, phase_, std::move(message)};
  if (was_dying) AppendSentence(failure.message, DescribeExit(status));
  if (!output_tail_.empty()) {
    AppendSentence(failure.message, fmt::format("Output: {}", output_tail_));
  }
  return failure;
}

bool ChildProcess::AwaitExit() {
  // The socket of a crashing process closes a moment before the process can be reaped, and a kill
  // in between would hide the signal that it died of.
  for (int waited_ms = 0; waited_ms < kExitPatienceMs; waited_ms += 5) {
    if (HasEnded()) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

bool ChildProcess::HasEnded() const {
  siginfo_t info{};
  const int found = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return found == 0 && info.si_pid == pid_;
}

DyingChild ChildProcess::End() {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
  return DyingChild(std::exchange(pid_, -1));
}

int ChildProcess::Kill() { return End().AwaitEnd(); }

int DyingChild::AwaitEnd() {
  if (pid_ <= 0) return 0;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

BusyTime ChildProcess::TakeBusyTime() {
  const std::lock_guard lock(pauses_->mutex);
  BusyTime busy = std::exchange(busy_, {});
  busy.idle.insert(busy.idle.end(), pauses_->ended.begin(), pauses_->ended.end());
  pauses_->ended.clear();
  return busy;
}

}  // namespace attune
