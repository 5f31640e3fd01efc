// What the name of a file says about the database in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::miopen {

// A perf-db is of convolutions; that of batch norms is another kind.
enum class DatabaseKind { kFindDb, kPerfDb, kKernelDb, kBatchNormDb };
// "find-db", "perf-db", "kernel-db", "batch-norm-db".
std::string_view Name(DatabaseKind kind);

// How perf-dbs are kept.
enum class Storage { kText, kSqlite };

struct FileName {
  DatabaseKind kind = DatabaseKind::kFindDb;
  Storage storage = Storage::kText;
  // "gfx906_60", as ParseTargetName takes it; "gfx906" for kernels of all GPUs of an architecture.
  // Empty where the name tells of none, as "miopen.db", which had all GPUs in it until 2021.
  std::string target;
  // What stands where the GPU does, if it begins as one, in letters of any case: `target`, or what
  // is mistyped or no name of a GPU ("gfx906_6O"). Empty where the name tells of none.
  std::string claimed_gpu;
  // "HIP" or "OpenCL": of which MIOpen the times of a find-db are, whose kernels are others. Empty
  // where the name does not tell.
  std::string backend;
  // A perf-db under the keys of a find-db, as text until 2020.
  bool has_find_keys = false;
};

// From the last part of `path`, before a ".bz2" of what is packed. kInvalidArgument for a name that
// no database of MIOpen's has, with those that there are; kUnsupported for databases of fusions,
// because their keys are different, and of batch norms unless they are the text of a perf-db.
Result<FileName> ParseFileName(const std::filesystem::path& path);

// A GPU as names of databases have it.
struct GpuName {
  std::string arch;       // "gfx90a"
  std::string features;   // "_sramecc", "_nosramecc", "_xnack"; mostly empty.
  int compute_units = 0;  // Of RDNA the number of work group processors.

  friend bool operator==(const GpuName&, const GpuName&) = default;
};

// Up to 64 compute units follow behind '_' in decimal ("gfx906_60"), more of them in hexadecimal
// without anything between ("gfx90a68" has 104).
Result<GpuName> ParseTargetName(std::string_view target);
std::string TargetName(const GpuName& gpu);

// kInvalidArgument for what a database of `kind` cannot be of: it is of a GPU, one of kernels also
// of a whole architecture ("gfx906").
Status CheckTarget(std::string_view target, DatabaseKind kind);

}  // namespace attune::miopen
