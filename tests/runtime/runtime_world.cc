#include "tests/runtime/runtime_world.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "storage/sql/sql_store.h"
#include "tests/runtime/product_of_ones.h"

namespace attune {

ScopedVariable::ScopedVariable(const char* name, const std::optional<std::string>& value)
    : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  if (value.has_value()) {
    ::setenv(name, value->c_str(), 1);
  } else {
    ::unsetenv(name);
  }
}

ScopedVariable::~ScopedVariable() {
  if (before_.has_value()) {
    ::setenv(name_.c_str(), before_->c_str(), 1);
  } else {
    ::unsetenv(name_.c_str());
  }
}

RuntimeWorld::RuntimeWorld(const std::string& script) {
  for (const char* name : {"ATTUNE_POLICY", "ATTUNE_PRESET", "ATTUNE_FORCE", "ATTUNE_PACKAGES",
                           "ATTUNE_SUMMARY", "ATTUNE_RECORD_TAG", "ATTUNE_DETERMINISTIC"}) {
    Set(name, std::nullopt);
  }
  Set("HOME", folder().string());
  Set("XDG_DATA_HOME", (folder() / "data").string());
  Set("XDG_CACHE_HOME", (folder() / "cache").string());
  // Tests that run at the same time do not wait for each other.
  Set("ATTUNE_LOCK_FOLDER", folder().string());
  Set("ATTUNE_DB", database());
  Set("ATTUNE_PLUGINS", "fake");
  Set("ATTUNE_PLUGIN_PATH", ATTUNE_PLUGIN_DIR);
  Set("ATTUNE_DEVICE", "fake");
  Set("ATTUNE_FAKE_SCRIPT", script);
  Set("ATTUNE_TUNER", ATTUNE_BIN_DIR "/attune-tuner");
}

void RuntimeWorld::CopyPlugin() {
  const std::filesystem::path plugins = folder() / "plugins";
  std::filesystem::create_directory(plugins);
  std::filesystem::copy(ATTUNE_PLUGIN_DIR "/attune_fake.so", plugins);
  Set("ATTUNE_PLUGIN_PATH", plugins.string());
}

void RuntimeWorld::Set(const char* name, const std::optional<std::string>& value) {
  variables_.insert(variables_.begin(), std::make_unique<ScopedVariable>(name, value));
}

void EventLog::Listen(attune_runtime* runtime) {
  (void)attune_set_listener(runtime, &EventLog::Note, this);
}

void EventLog::Note(void* log, attune_event event, const char*, const char* candidate,
                    const char* message) {
  auto* self = static_cast<EventLog*>(log);
  const std::lock_guard<std::mutex> lock(self->mutex_);
  self->events_.push_back({event, candidate == nullptr ? "" : candidate, message});
}

int EventLog::Count(attune_event event) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(std::count_if(events_.begin(), events_.end(),
                                        [&](const Event& e) { return e.kind == event; }));
}

std::string EventLog::Message(attune_event event) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Event& known : events_) {
    if (known.kind == event) return known.message;
  }
  return "";
}

std::string EventLog::Candidate(attune_event event) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string candidate;
  for (const Event& known : events_) {
    if (known.kind == event && !known.candidate.empty()) candidate = known.candidate;
  }
  return candidate;
}

bool EventLog::Mentions(const std::string& text) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(events_.begin(), events_.end(), [&](const Event& event) {
    return event.candidate.find(text) != std::string::npos ||
           event.message.find(text) != std::string::npos;
  });
}

RuntimeHandle MakeRuntime(const attune_options& options) {
  attune_runtime* runtime = nullptr;
  (void)attune_runtime_create(&options, &runtime);
  return RuntimeHandle(runtime);
}

RuntimeHandle MakeRuntime(attune_policy policy, int64_t per_problem_ms) {
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.policy = policy;
  options.per_problem_ms = per_problem_ms;
  return MakeRuntime(options);
}

bool Multiply(attune_runtime* runtime, int64_t size) {
  std::vector<float> product;
  if (MultiplyOnes(runtime, size, product) != ATTUNE_OK) return false;
  return product == std::vector<float>(product.size(), static_cast<float>(size));
}

bool IsIdle(attune_runtime* runtime) {
  // Problems that could not be recorded are an error, but no remaining work.
  return attune_wait_idle(runtime, 60'000) != ATTUNE_DEADLINE_EXCEEDED;
}

attune_counters CountersOf(attune_runtime* runtime) {
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  (void)attune_get_counters(runtime, &counters);
  return counters;
}

int FinishedSetsIn(const std::string& database) {
  const auto store = OpenSqlStore(database);
  if (!store.ok()) return -1;
  RecordQuery query;
  query.finished_only = true;
  int sets = 0;
  const Status visited = (*store)->Visit(query, [&](const RecordedSet&) {
    ++sets;
    return Status::Ok();
  });
  return visited.ok() ? sets : -1;
}

attune_options MessageLog::Options(attune_policy policy) {
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.policy = policy;
  options.message = Take;
  options.message_context = this;
  return options;
}

std::vector<std::string> MessageLog::lines() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lines_;
}

void MessageLog::Take(void* log, const char* line) {
  auto* here = static_cast<MessageLog*>(log);
  const std::lock_guard<std::mutex> lock(here->mutex_);
  here->lines_.emplace_back(line);
}

size_t ProblemsUnder(const std::string& database, const std::string& tag) {
  const auto store = OpenSqlStore(database);
  if (!store.ok()) return 0;
  const auto problems = (*store)->Problems(tag);
  return problems.ok() ? problems->size() : 0;
}

namespace {

struct ProcessState {
  pid_t pid = 0;
  std::string name;
  std::string state;
  pid_t parent = 0;
};

std::vector<ProcessState> AllProcesses() {
  std::vector<ProcessState> processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    // "PID (NAME) STATE PARENT ..."
    const size_t open = line.find('(');
    const size_t close = line.rfind(')');
    if (open == std::string::npos || close == std::string::npos) continue;
    ProcessState process;
    process.pid = std::atoi(line.c_str());
    process.name = line.substr(open + 1, close - open - 1);
    std::istringstream(line.substr(close + 1)) >> process.state >> process.parent;
    if (process.state != "Z") processes.push_back(std::move(process));
  }
  return processes;
}

bool HasArgument(pid_t pid, const std::string& word) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
  for (std::string argument; std::getline(file, argument, '\0');) {
    if (argument == word) return true;
  }
  return false;
}

}  // namespace

std::vector<pid_t> ChildrenCalled(const std::string& name) {
  std::vector<pid_t> children;
  for (const ProcessState& process : AllProcesses()) {
    if (process.name == name && process.parent == ::getpid()) children.push_back(process.pid);
  }
  return children;
}

std::vector<pid_t> ProcessesCalled(const std::string& name, const std::string& word) {
  std::vector<pid_t> found;
  for (const ProcessState& process : AllProcesses()) {
    if (process.name == name && HasArgument(process.pid, word)) found.push_back(process.pid);
  }
  return found;
}

CallerProcess::CallerProcess(const std::string& policy, int64_t size)
    : CallerProcess({ATTUNE_RUNTIME_CALLER, policy, std::to_string(size)}) {}

CallerProcess::CallerProcess(std::vector<std::string> words) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  output_ = ends[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) {
    pid_ = -1;
  }
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
}

CallerProcess::~CallerProcess() {
  Kill();
  if (output_ >= 0) ::close(output_);
}

void CallerProcess::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::map<std::string, int64_t> CallerProcess::Wait() {
  std::string text;
  char buffer[1024];
  for (ssize_t got = 0; (got = ::read(output_, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  int status = -1;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  std::map<std::string, int64_t> values;
  if (status != 0) return values;
  std::istringstream lines(text);
  std::string name;
  for (int64_t value = 0; lines >> name >> value;) values[name] = value;
  return values;
}

}  // namespace attune
