// Tells if the other threads of this process are asleep: a thread runtime that still polls for work
// takes a core away from the next timing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attune/base/status.h"

namespace attune::host {

// A thread of this process that is running or ready to run.
struct BusyThread {
  int tid = 0;
  std::string name;

  friend bool operator==(const BusyThread&, const BusyThread&) = default;
};

// The first such thread beside the caller, or nothing. Costs some microseconds for each thread.
std::optional<BusyThread> FindBusyThread();

// Waits until FindBusyThread() finds none, at most `limit_ns`. kDeadlineExceeded names the thread.
Status AwaitQuietThreads(int64_t limit_ns);

// The state letter and the name in one line of /proc/PID/task/TID/stat: "R" and "a) b" in
// "17 (a) b) R 1 ...". Nothing if the line is not of that form.
struct ThreadState {
  char state = '?';
  std::string name;

  friend bool operator==(const ThreadState&, const ThreadState&) = default;
};
std::optional<ThreadState> ParseThreadState(const std::string& stat_line);

}  // namespace attune::host
