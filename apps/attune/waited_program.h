// Runs a program and waits for it, so that its caller sees no difference from a process that became
// the program: for verbs that have something to say at its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

struct WaitedEnd {
  int start_error = 0;  // errno of why it could not be started; 0 if it was.
  int wait_status = 0;  // As waitpid() has it.
};

// Runs `command`, looked for in PATH, in a child of the same process group and terminal, with the
// signals, limits and descriptors that attune was started with.
//
//   - Signals that are sent to this process are sent on. Those of the terminal reach the program
//     anyway.
//   - When the program stops, this process stops, so that a shell has its prompt; when a shell
//     continues the group, both go on.
//   - If this process is killed, the program is.
//   - From the start of the program on, this process holds nothing open that it inherited but
//     standard error, so that pipes close when the program closes them. Descriptors 0 and 1 become
//     those of /dev/null, and all signals stay blocked.
//
// `in_child` runs in the child before the program. kUnavailable if there can be no child; nothing
// has changed then. Call it in a process of one thread.
Result<WaitedEnd> RunWaited(const std::vector<std::string>& command,
                            const std::function<void()>& in_child);

// Ends this process as the program ended: with its status, or by the same signal. Returns the
// status that stands for that signal, should the signal not end it.
int EndAs(int wait_status);

}  // namespace attune
