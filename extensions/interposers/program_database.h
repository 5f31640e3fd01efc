// The database of a program that `attune blas` or `attune cublas` starts.
#pragma once

#include <filesystem>
#include <string>

#include "apps/attune/application.h"
#include "attune/base/status.h"

namespace attune {

struct ProgramDatabase {
  std::filesystem::path file;  // Absolute; empty if the program has no database file.
  bool is_default = false;     // True if the file is at the default path.
  // The reason why the program cannot use it. Ok also if the database need not exist yet.
  Status usable;
};

// The database that --db and the environment select. `records`: the program records problems.
ProgramDatabase DatabaseOfProgram(const Application& application, bool records);

// Passes --db to the program as ATTUNE_DB, in a form that does not depend on the current folder.
void NameDatabase(const Application& application);

}  // namespace attune
