// Perf-dbs as SQLite tables: versions 1.0.0 and 1.1.0. docs/formats/miopen.md.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/finding.h"
#include "attune/formats/miopen/perf_db.h"

namespace attune::miopen {

enum class PerfSchema {
  kOneForAll,     // 1.0.0: one file; each row names its GPU.
  kOneForTarget,  // 1.1.0: a file for each GPU.
};

// The part of a file for one GPU.
struct TargetPerfDb {
  std::string target;  // "gfx906_60"; empty under kOneForTarget, where the file name has it.
  PerfDb db;           // Under PerfKeyForm::kPerfKey.
};

struct PerfTables {
  PerfSchema schema = PerfSchema::kOneForTarget;
  std::vector<TargetPerfDb> targets;  // Sorted by target; exactly one under kOneForTarget.
};

// Impossible rows are left out, with findings of their ids. kInvalidArgument for a database without
// the tables that MIOpen needs.
Result<PerfTables> ReadPerfTables(const std::filesystem::path& path, Findings& findings);

// Replaces `path`. kInvalidArgument for several targets under kOneForTarget, or for an invalid GPU
// name under kOneForAll.
Status WritePerfTables(const std::filesystem::path& path, const PerfTables& tables);

}  // namespace attune::miopen
