#include "bench/figures.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/unique_fd.h"

extern char** environ;

namespace attune {

double SecondsSince(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
}

double ProcessorMs() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Require(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}: {}\n", program_invocation_short_name, status.ToString());
  std::exit(1);
}

void PrintFigures(const std::vector<Figure>& figures, const nlohmann::ordered_json& circumstances,
                  bool as_json) {
  if (!as_json) {
    for (const auto& [name, value] : circumstances.items()) {
      fmt::print("{} {}\n", value.dump(), name);
    }
    fmt::print("\n{:<28} {:>14}  {}\n", "figure", "value", "required");
    for (const Figure& figure : figures) {
      // Scores and shares are small.
      const int decimals = std::abs(figure.value) < 10 ? 3 : 1;
      fmt::print("{:<28} {:>14.{}f}  {}\n", figure.name, figure.value, decimals, figure.required);
    }
    return;
  }
  nlohmann::ordered_json result;
  result["summary"] = nlohmann::ordered_json::object();
  result["rows"] = nlohmann::ordered_json::array();
  for (const Figure& figure : figures) {
    result["summary"][figure.name] = figure.value;
    result["rows"].push_back(
        {{"figure", figure.name}, {"value", figure.value}, {"required", figure.required}});
  }
  result["summary"].update(circumstances);
  fmt::print("{}\n", result.dump(2));
}

BenchFolder::BenchFolder(const std::string& parent) {
  namespace fs = std::filesystem;
  const fs::path above = parent.empty() ? fs::temp_directory_path() : fs::path(parent);
  std::string path = (above / "attune-bench-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    Require(Unavailable(fmt::format("Cannot make a folder in '{}'.", above.string())));
  }
  path_ = path;
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Forget(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.valid()) ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

namespace {

void RunProgram(const std::string& path, std::vector<std::string> command,
                const std::string& output) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = 0;
  int exit_status = 0;
  const int error = ::posix_spawn(&child, path.c_str(), &actions, nullptr, words.data(), environ);
  if (error == 0) ::waitpid(child, &exit_status, 0);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0 || exit_status != 0) {
    Require(Internal(fmt::format("The child process '{}' failed.", command.front())));
  }
}

}  // namespace

void RunAgain(std::vector<std::string> arguments, const std::string& output) {
  arguments.insert(arguments.begin(), program_invocation_short_name);
  RunProgram("/proc/self/exe", std::move(arguments), output);
}

void RunBeside(const std::string& name, std::vector<std::string> arguments,
               const std::string& output) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  arguments.insert(arguments.begin(), name);
  RunProgram(self.parent_path() / name, std::move(arguments), output);
}

}  // namespace attune
