// Runs a program and waits for it, for verbs that print something at its end. For the caller, this
// looks like a process that became the program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

// What a shell adds to the number of the signal that ended a program.
inline constexpr int kSignalledStatus = 128;

struct WaitedEnd {
  int start_error = 0;  // errno if the program did not start, else 0.
  int wait_status = 0;  // The status of waitpid().
};

// Runs `command`, searched in PATH, in a child of the same process group and terminal. The child
// gets the signals, limits and descriptors with which attune started.
//
//   - This process forwards the signals that it receives. Signals of the terminal reach the program
//     directly.
//   - When the program stops, this process stops, so that a shell shows its prompt. When the shell
//     continues the group, both resume.
//   - If this process is killed, the kernel kills the program.
//   - Once the program has started, this process keeps no inherited descriptor except standard
//     error, so that pipes close when the program closes them. Descriptors 0 and 1 become
//     /dev/null. All signals stay blocked.
//
// `in_child` runs in the child before the program. Returns kUnavailable, and changes nothing, if
// fork() fails. The calling process must have one thread.
Result<WaitedEnd> RunWaited(const std::vector<std::string>& command,
                            const std::function<void()>& in_child);

// Returns the program's exit status, or ends this process by the signal that ended the program. If
// the signal does not end this process, returns the status that shells use for it.
int EndAs(int wait_status);

}  // namespace attune
