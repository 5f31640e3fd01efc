// The database of a program that `attune blas` or `attune cublas` starts.
#pragma once

#include <filesystem>
#include <string>

#include "apps/attune/application.h"
#include "attune/base/status.h"

namespace attune {

struct ProgramDatabase {
  std::filesystem::path file;  // Absolute; empty if it has none in a file.
  bool is_default = false;     // Nobody named it.
  // Why the program cannot use it. Ok: it can, or nothing has to be there yet.
  Status usable;
};

// What the environment and --db stand for. `records`: problems are to be recorded for it.
ProgramDatabase DatabaseOfProgram(const Application& application, bool records);

// --db reaches the program as ATTUNE_DB, in a form that survives a change of folder.
void NameDatabase(const Application& application);

}  // namespace attune
