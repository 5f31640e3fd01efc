// Moves what programs recorded from the spools beside a database into it.
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
  int64_t problems = 0;      // Lines of problems that were read.
  int64_t new_problems = 0;  // Of them, those that their tag did not have.
  // What programs lost, what is damaged, and what is not imported: a sentence each.
  std::vector<std::string> complaints;
};

// Whether a program has left problems beside the database at `path` that this user may import.
bool HasSpools(const std::filesystem::path& path);
// The same; `refused` says which folder with recorded problems is not read, if there is one.
bool HasSpools(const std::filesystem::path& path, std::string& refused);

struct SpoolImportOptions {
  // Patience with others that hold a spool.
  std::chrono::milliseconds patience{5000};
  // Whether complaints reach somebody. If not, files that cause some are imported and kept.
  bool is_told = false;
  // Between the commit and the removal of its files; for tests.
  void (*after_commit)() = nullptr;
};

// Imports every whole line of the spools of the database at `path`. A problem that a tag has keeps
// its weight, so importing again changes nothing: that is what makes a crash between the commit and
// the removal of a file harmless. Files of a program that runs are removed too; it makes new ones.
SpoolImport ImportSpools(SqlDatabase& database, const std::filesystem::path& path,
                         const SpoolImportOptions& options);

}  // namespace attune
