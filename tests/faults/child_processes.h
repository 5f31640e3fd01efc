// The children of this process, for tests that count them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace attune {

// Children that any thread has started and that are not reaped.
inline std::set<pid_t> ChildProcesses() {
  std::set<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid = 0; list >> pid;) children.insert(pid);
  }
  return children;
}

}  // namespace attune
