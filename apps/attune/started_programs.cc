#include "apps/attune/started_programs.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace attune {

void KillStartedPrograms() {
  namespace fs = std::filesystem;
  std::error_code error;
  // Each thread has those that it started.
  for (fs::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) {
      if (::getpgid(child) == child) ::kill(-child, SIGKILL);
    }
  }
}

}  // namespace attune
