#include "attune/library/profiler_runner.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <exception>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/base/text.h"

namespace attune {
namespace {

constexpr double kNsPerSecond = 1e9;

std::string WithLastWords(std::string message, std::string_view log) {
  const std::string words = LastLineOf(log);
  return words.empty() ? message + "." : fmt::format("{}: {}", message, words);
}

void Judge(const ProfilerTerms& terms, ProfilerOutcome& outcome) {
  const bool is_cut = outcome.out.size() == terms.max_output_bytes;
  auto ops = ParseProfilerOutput(outcome.out);
  outcome.fate = ProfilerFate::kNoResult;
  if (!terms.wants_ops) {
    outcome.fate = ProfilerFate::kDone;
  } else if (is_cut) {
    outcome.message = fmt::format("It printed {} bytes or more, of which no more are read.",
                                  terms.max_output_bytes);
  } else if (!ops.ok()) {
    outcome.message = ops.error().message();
  } else if (ops->empty()) {
    outcome.message = "It ended well and printed no line with OP: or TIME:.";
  } else {
    outcome.fate = ProfilerFate::kDone;
    outcome.ops = std::move(*ops);
  }
}

void Take(ProgramEnd end, const ProfilerTerms& terms, ProfilerOutcome& outcome) {
  outcome.number = end.number;
  outcome.out = std::move(end.out);
  outcome.log = std::move(end.log);
  switch (end.how) {
    case ProgramEnd::How::kExited:
      if (end.number == 0) return Judge(terms, outcome);
      outcome.fate = ProfilerFate::kExitStatus;
      outcome.message =
          WithLastWords(fmt::format("It ended with exit status {}", end.number), outcome.log);
      return;
    case ProgramEnd::How::kSignalled:
      outcome.fate = ProfilerFate::kSignalled;
      outcome.message = WithLastWords(
          fmt::format("It was killed by signal {} ({})", end.number, strsignal(end.number)),
          outcome.log);
      return;
    case ProgramEnd::How::kLate:
      outcome.fate = ProfilerFate::kTimedOut;
      outcome.message =
          WithLastWords(fmt::format("It was killed: it had not ended after {:.3g} s",
                                    static_cast<double>(terms.deadline_ns) / kNsPerSecond),
                        outcome.log);
      return;
    case ProgramEnd::How::kStopped:
      outcome.fate = ProfilerFate::kStopped;
      outcome.message = "It was killed, because the run was stopped.";
      return;
  }
}

// Without blanks; nothing for nothing.
std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, ',');) {
    std::erase(part, ' ');
    parts.push_back(part);
  }
  return parts;
}

// Fates that a faulty device may cause.
bool IsFault(ProfilerFate fate) {
  return fate == ProfilerFate::kSignalled || fate == ProfilerFate::kTimedOut;
}

// Any other value of CUDA_VISIBLE_DEVICES (-1, a blank, an option's name) hides all devices, or
// shows more than one.
bool IsDeviceName(std::string_view name) {
  const auto is_sign = [](char byte) {
    return std::string_view("-_.:/").find(byte) != std::string_view::npos;
  };
  const auto is_alphanumeric = [](char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
  };
  if (name.empty() || !is_alphanumeric(name.front())) return false;
  // "00" would be the device 0 once more, under another lock.
  const bool is_ordinal = name.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_ordinal && name.size() > 1 && name.front() == '0') return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char byte) { return is_alphanumeric(byte) || is_sign(byte); });
}

}  // namespace

std::string_view Name(ProfilerFate fate) {
  switch (fate) {
    case ProfilerFate::kDone:
      return "done";
    case ProfilerFate::kNotStarted:
      return "not_started";
    case ProfilerFate::kExitStatus:
      return "exit_status";
    case ProfilerFate::kSignalled:
      return "signalled";
    case ProfilerFate::kTimedOut:
      return "timed_out";
    case ProfilerFate::kNoResult:
      return "no_result";
    case ProfilerFate::kStopped:
      return "stopped";
    case ProfilerFate::kRefused:
      return "refused";
  }
  return "";
}

Result<ProfilerDevice> VisibleDevice(const std::string& name, const ProcessVariables& process) {
  if (!IsDeviceName(name)) {
    return InvalidArgument(
        fmt::format("'{}' is no device: name an ordinal from 0, as 0, or what the vendor calls it, "
                    "as GPU-1a2b.",
                    Excerpt(name)));
  }
  ProfilerDevice device{name, {}};
  const bool is_ordinal = name.find_first_not_of("0123456789") == std::string::npos;
  for (const char* variable : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
    std::string& value = device.variables[variable];
    value = name;
    const auto seen = ValueOf(process, variable);
    if (!is_ordinal || !seen.has_value()) continue;
    const std::vector<std::string> visible = SplitAtCommas(*seen);
    size_t ordinal = visible.size();
    std::from_chars(name.data(), name.data() + name.size(), ordinal);
    if (ordinal >= visible.size()) {
      return NotFound(
          fmt::format("There is no device {}: {} is '{}', which lets {} be seen, from 0.",
                      Excerpt(name), variable, Excerpt(*seen), visible.size()));
    }
    value = visible[ordinal];
  }
  return device;
}

ProfilerRunner::ProfilerRunner(const std::vector<ProfilerDevice>& devices, ProfilerTerms terms,
                               ProfilerHooks hooks)
    : terms_(std::move(terms)), hooks_(std::move(hooks)) {
  assert(!devices.empty());
  // All of them before any thread, which borrows one.
  for (const ProfilerDevice& device : devices) devices_.push_back({device});
  for (DeviceState& state : devices_) threads_.emplace_back([this, &state] { Work(state); });
}

ProfilerRunner::~ProfilerRunner() {
  is_ending_.store(true);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ProfilerRunner::Push(ProfilerCommand command, Callback callback) {
  Enqueue({std::move(command), std::move(callback), std::nullopt});
}

void ProfilerRunner::PushKnown(ProfilerCommand command, ProfilerOutcome outcome,
                               Callback callback) {
  Enqueue({std::move(command), std::move(callback), std::move(outcome)});
}

void ProfilerRunner::Enqueue(Task task) {
  assert(!task.command.words.empty());
  const std::lock_guard<std::mutex> lock(mutex_);
  task.id = next_id_++;
  queue_.push_back(std::move(task));
  ++open_;
  changed_.notify_all();
}

ProfilerRunner::Joined ProfilerRunner::Join() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
  }
  std::string thrown;
  try {
    if (hooks_.postprocess != nullptr) hooks_.postprocess();
  } catch (const std::exception& error) {
    thrown = fmt::format("The postprocessing threw: {}", error.what());
  } catch (...) {
    thrown = "The postprocessing threw what is no std::exception.";
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!thrown.empty()) joined_.thrown.push_back(std::move(thrown));
  Joined joined = joined_;
  joined_.thrown.clear();
  return joined;
}

bool ProfilerRunner::MayGoOn() const {
  return !is_ending_.load() && (hooks_.go_on == nullptr || hooks_.go_on());
}

void ProfilerRunner::Work(DeviceState& state) {
  for (;;) {
    Task task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return is_ending_ || (!queue_.empty() && !state.is_retired); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    if (task.known.has_value()) {
      Finish(task, *task.known);
      continue;
    }
    ProfilerOutcome outcome = Run(task, state.device);
    if (!outcome.device.empty()) ++task.attempts;
    outcome.attempts = task.attempts;
    Note(state, task, outcome);
    if (ShouldRepeat(task, outcome)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(task));
      changed_.notify_all();
      continue;
    }
    Finish(task, outcome);
  }
}

void ProfilerRunner::Finish(const Task& task, const ProfilerOutcome& outcome) {
  CallBack(task, outcome);
  const std::lock_guard<std::mutex> lock(mutex_);
  --open_;
  changed_.notify_all();
}

ProfilerOutcome ProfilerRunner::Run(const Task& task, const ProfilerDevice& device) const {
  ProfilerOutcome outcome;
  outcome.message = "It was not run, because the run was stopped.";
  if (!MayGoOn()) return outcome;
  std::shared_ptr<void> turn;
  if (hooks_.take != nullptr) {
    auto taken = hooks_.take(device.name);
    if (!MayGoOn()) return outcome;
    if (!taken.ok()) {
      outcome.fate = ProfilerFate::kRefused;
      outcome.message = taken.error().message();
      return outcome;
    }
    turn = std::move(*taken);
  }
  outcome.device = device.name;
  outcome.fate = ProfilerFate::kNotStarted;
  ProgramCommand command;
  command.words = task.command.words;
  command.words.front() = FindProgram(task.command.words.front());
  if (command.words.front().empty()) {
    outcome.message = fmt::format("There is no program '{}' that may be run.",
                                  Excerpt(task.command.words.front()));
    return outcome;
  }
  command.folder = task.command.folder;
  command.variables = task.command.variables;
  for (const auto& [name, value] : device.variables) command.variables[name] = value;
  command.deadline_ns = terms_.deadline_ns;
  command.max_output_bytes = terms_.max_output_bytes;
  command.go_on = [this] { return MayGoOn(); };
  const int64_t begin_ns = SteadyNowNs();
  auto end = RunToEnd(command);
  outcome.wall_ns = SteadyNowNs() - begin_ns;
  outcome.message.clear();
  if (end.ok()) {
    Take(std::move(*end), terms_, outcome);
  } else {
    outcome.message = end.error().message();
  }
  return outcome;
}

bool ProfilerRunner::ShouldRepeat(const Task& task, const ProfilerOutcome& outcome) const {
  const bool may_be_luck = outcome.fate == ProfilerFate::kNotStarted ||
                           outcome.fate == ProfilerFate::kExitStatus ||
                           outcome.fate == ProfilerFate::kSignalled;
  return may_be_luck && task.attempts < terms_.attempts && !is_ending_.load();
}

void ProfilerRunner::CallBack(const Task& task, const ProfilerOutcome& outcome) {
  if (task.callback == nullptr) return;
  const auto say = [this](std::string what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    joined_.thrown.push_back(std::move(what));
  };
  const std::lock_guard<std::mutex> one(callback_mutex_);
  try {
    task.callback(outcome);
  } catch (const std::exception& error) {
    say(fmt::format("The callback of '{}' threw: {}", task.command.words.front(), error.what()));
  } catch (...) {
    say(fmt::format("The callback of '{}' threw what is no std::exception.",
                    task.command.words.front()));
  }
}

void ProfilerRunner::Note(DeviceState& state, const Task& task, const ProfilerOutcome& outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!IsFault(outcome.fate)) {
    state.faults = 0;
    state.last_faulty = -1;
    return;
  }
  // One that is repeated here says no more about the device than it did.
  if (state.last_faulty != task.id) ++state.faults;
  state.last_faulty = task.id;
  const auto left = std::count_if(devices_.begin(), devices_.end(),
                                  [](const DeviceState& other) { return !other.is_retired; });
  if (state.faults < terms_.faults_to_retire || left == 1) return;
  state.is_retired = true;
  joined_.retired[state.device.name] = fmt::format(
      "{} commands in a row failed there, the last so: {}", state.faults, outcome.message);
}

}  // namespace attune
