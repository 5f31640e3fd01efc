// Any database of MIOpen, identified by its file name.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/file_name.h"
#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/finding.h"
#include "storage/miopen/perf_tables.h"

namespace attune::miopen {

// A valid kernel without its code, which may be large.
struct KernelEntry {
  std::string name;
  std::string options;
  std::string hash;
  uint64_t id = 0;  // Row id.
};
using KernelList = std::vector<KernelEntry>;

struct Database {
  std::filesystem::path path;
  FileName name;
  Findings findings;  // Findings in this file alone.
  std::variant<FindDb, PerfTables, KernelList> content;

  const FindDb* find_db() const { return std::get_if<FindDb>(&content); }
  const PerfTables* perf_tables() const { return std::get_if<PerfTables>(&content); }
  const KernelList* kernels() const { return std::get_if<KernelList>(&content); }
};

// kInvalidArgument for a pipe or a device, because reading it may block for ever. The reader itself
// reports missing files and folders.
Status CheckNoPipe(const std::filesystem::path& path);

// Reads all of it, and unpacks each kernel to compare it with its hash. A text perf-db is one
// target without a name. Fails as ParseFileName and CheckNoPipe do, as a file that cannot be read,
// and for a database of other tables; defects inside are findings.
Result<Database> ReadDatabase(const std::filesystem::path& path);

}  // namespace attune::miopen
