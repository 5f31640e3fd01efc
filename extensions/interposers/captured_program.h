// A program that runs with a preload library in front of its libraries, and that attune waits for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

struct ProgramEnd {
  int start_error = 0;  // errno if it could not be started.
  int exit_status = 0;  // Its own, or 128 and the number of the signal that ended it.
  int signal = 0;
};

// Runs `words` with `variables` in its environment beside what this process has, and waits for its
// end. While it runs, interrupts of the terminal are its business alone, and a request to end is
// passed on to it. kUnavailable if it cannot be waited for.
Result<ProgramEnd> RunToItsEnd(const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& variables);

}  // namespace attune
