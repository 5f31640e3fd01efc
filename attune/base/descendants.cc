#include "attune/base/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "attune/base/unique_fd.h"

namespace attune {
namespace {

struct ProcessState {
  char state = 0;  // As /proc/PID/stat has it; 0 if there is no such process.
  pid_t parent = 0;
};

ProcessState StateOf(const char* pid) {
  const UniqueFd file(
      ::open((std::string("/proc/") + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[256];
  const ssize_t count = file.valid() ? ::read(file.get(), text, sizeof(text) - 1) : -1;
  if (count <= 0) return {};
  text[count] = '\0';
  // Behind the name, which may hold anything.
  const char* const name_end = std::strrchr(text, ')');
  ProcessState found;
  if (name_end == nullptr ||
      std::sscanf(name_end + 1, " %c %d", &found.state, &found.parent) != 2) {
    return {};
  }
  return found;
}

}  // namespace

void VisitDescendants(pid_t ancestor, const std::function<void(pid_t)>& visit) {
  const auto close = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> processes(::opendir("/proc"), close);
  if (processes == nullptr) return;
  std::set<pid_t> family = {ancestor};
  // By number: parents come before what they started, but where numbers began anew.
  while (const dirent* entry = ::readdir(processes.get())) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const ProcessState process = StateOf(entry->d_name);
    if (process.state == 0 || !family.contains(process.parent)) continue;
    family.insert(pid);
    if (process.state != 'Z') visit(pid);
  }
}

}  // namespace attune
