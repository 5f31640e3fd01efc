// Moves recorded problems from the spools beside a database into it. See
// docs/design/0049-problem-spools.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

class SqlDatabase;

struct SpoolImport {
  int64_t problems = 0;      // Problem lines that were read.
  int64_t new_problems = 0;  // Those that were new in their tag.
  // One sentence for each loss of a program, damaged file or skipped file.
  std::vector<std::string> complaints;
};

// Returns true if a program left problems beside the database at `path` that this user may import.
bool HasSpools(const std::filesystem::path& path);
// The same. `refused` gets the folder with recorded problems that was refused, if any.
bool HasSpools(const std::filesystem::path& path, std::string& refused);

struct SpoolImportOptions {
  // The maximum wait for other processes that hold a spool.
  std::chrono::milliseconds patience{5000};
  // True if a user sees the complaints. If false, files that cause complaints are imported and
  // kept.
  bool is_told = false;
  // Runs between the commit and the removal of the files; for tests.
  void (*after_commit)() = nullptr;
};

// Imports every whole line of the spools of the database at `path`. A problem that a tag has keeps
// its weight, so a repeated import changes nothing and a crash between the commit and the removal
// of a file is harmless. Removes files of running programs, too; they create new ones.
SpoolImport ImportSpools(SqlDatabase& database, const std::filesystem::path& path,
                         const SpoolImportOptions& options);

}  // namespace attune
