#include "tests/fleet/attune_processes.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"

namespace attune {
namespace {

// This process's environment with `settings` in it: NAME=VALUE.
std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text = *line;
    const std::string name(text.substr(0, text.find('=')));
    if (!settings.contains(name)) lines.emplace_back(*line);
  }
  for (const auto& [name, value] : settings) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

AttuneProcesses::AttuneProcesses(std::string program) : program_(std::move(program)) {
  const std::string folder = folder_.path();
  settings_ = {{"HOME", folder},
               {"XDG_DATA_HOME", folder + "/data"},
               {"XDG_CACHE_HOME", folder + "/cache"},
               {"ATTUNE_LOCK_FOLDER", folder}};
}

AttuneProcesses::~AttuneProcesses() {
  for (const auto& [name, process] : running_) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
}

pid_t AttuneProcesses::Start(const std::string& name, std::vector<std::string> words) {
  assert(!running_.contains(name));
  words.insert(words.begin(), program_);
  std::vector<std::string> environment = EnvironmentWith(settings_);
  const std::vector<char*> arguments = PointersTo(words);
  const std::vector<char*> variables = PointersTo(environment);
  const std::string log = folder_.path() / (name + ".log");
  const pid_t process = ::fork();
  if (process != 0) {
    running_[name] = process;
    return process;
  }
  // Only calls that are safe between fork and exec.
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!host_.empty() &&
      (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(host_.data(), host_.size()) != 0)) {
    ::_exit(126);
  }
  ::execve(arguments.front(), arguments.data(), variables.data());
  ::_exit(127);
}

int AttuneProcesses::Wait(const std::string& name) {
  int status = -1;
  ::waitpid(running_.at(name), &status, 0);
  running_.erase(name);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int AttuneProcesses::End(const std::string& name, int signal) {
  ::kill(running_.at(name), signal);
  return Wait(name);
}

int AttuneProcesses::Run(const std::string& name, const std::vector<std::string>& words) {
  Start(name, words);
  return Wait(name);
}

std::string AttuneProcesses::Log(const std::string& name) const {
  return ReadFile(folder_.path() / (name + ".log")).value_or("");
}

std::string AttuneProcesses::Logs() const {
  std::string logs;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path().extension() != ".log") continue;
    logs += fmt::format("{}:\n{}", entry.path().filename().string(),
                        ReadFile(entry.path()).value_or(""));
  }
  return logs;
}

std::vector<pid_t> ChildrenOf(pid_t process) {
  std::vector<pid_t> children;
  std::error_code gone;
  const std::filesystem::path threads = fmt::format("/proc/{}/task", process);
  for (const auto& thread : std::filesystem::directory_iterator(threads, gone)) {
    std::istringstream list(ReadFile(thread.path() / "children").value_or(""));
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

}  // namespace attune
