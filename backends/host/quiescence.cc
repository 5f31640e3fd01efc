#include "backends/host/quiescence.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include <fmt/format.h>

namespace attune::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{1000};

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

std::optional<ThreadState> ParseThreadState(const std::string& stat_line) {
  // A name may contain parentheses itself, so the last one ends it.
  const size_t open = stat_line.find('(');
  const size_t close = stat_line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  if (close + 2 >= stat_line.size()) return std::nullopt;
  return ThreadState{stat_line[close + 2], stat_line.substr(open + 1, close - open - 1)};
}

std::optional<BusyThread> FindBusyThread() {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc/self/task"));
  if (folder == nullptr) return std::nullopt;
  const int self = ::gettid();
  while (const dirent* entry = ::readdir(folder.get())) {
    const int tid = std::atoi(entry->d_name);
    if (tid <= 0 || tid == self) continue;
    std::ifstream file(fmt::format("/proc/self/task/{}/stat", tid));
    std::string line;
    std::getline(file, line);
    const std::optional<ThreadState> state = ParseThreadState(line);
    if (state.has_value() && state->state == 'R') return BusyThread{tid, state->name};
  }
  return std::nullopt;
}

Status AwaitQuietThreads(int64_t limit_ns) {
  const auto deadline = Clock::now() + std::chrono::nanoseconds(limit_ns);
  std::chrono::microseconds pause = kFirstPause;
  while (true) {
    const std::optional<BusyThread> busy = FindBusyThread();
    if (!busy.has_value()) return Status::Ok();
    if (Clock::now() >= deadline) {
      return DeadlineExceeded(fmt::format(
          "Thread {} ({}) of this process is still running after {} ns, so timings would be "
          "disturbed. Make its runtime wait passively, for example with OMP_WAIT_POLICY=passive.",
          busy->tid, busy->name, limit_ns));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace attune::host
