// Runs a program that records its problems, and prints their number at its end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "extensions/interposers/program_database.h"

namespace attune {

struct RecordedProgram {
  std::string_view verb;  // "blas": the prefix of messages.
  std::string tag;
  std::vector<std::string> command;
  std::function<void()> in_child;  // Runs after the fork, before exec.
};

struct RecordedEnd {
  int start_error = 0;  // errno if the program did not start, else 0.
  int wait_status = 0;  // The status of waitpid().
};

// Waits for the program, imports the problems that it and its processes recorded, and prints their
// number. Fails before the program starts, if attune can neither record nor wait.
Result<RecordedEnd> RunRecorded(Application& application, const ProgramDatabase& database,
                                const RecordedProgram& program);

}  // namespace attune
