// Runs a program that records its problems, and says at its end how many there are.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/program_database.h"
#include "attune/base/status.h"

namespace attune {

struct RecordedProgram {
  std::string_view verb;  // "blas": what messages begin with.
  std::string tag;
  std::vector<std::string> command;
  std::function<void()> in_child;  // What its process does before it becomes the program.
};

struct RecordedEnd {
  int start_error = 0;  // errno of why the program could not be started; 0 if it was.
  int wait_status = 0;  // As waitpid() has it.
};

// Waits for the program, imports what it and its processes recorded, and prints what became of it.
// A failure says why nothing can be recorded or waited for; then nothing was started.
Result<RecordedEnd> RunRecorded(Application& application, const ProgramDatabase& database,
                                const RecordedProgram& program);

}  // namespace attune
