// Reads the properties of a database from its file name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::miopen {

// A perf-db of convolutions; batch norms have another kind.
enum class DatabaseKind { kFindDb, kPerfDb, kKernelDb, kBatchNormDb };
// "find-db", "perf-db", "kernel-db", "batch-norm-db".
std::string_view Name(DatabaseKind kind);

// Storage form of perf-dbs.
enum class Storage { kText, kSqlite };

struct FileName {
  DatabaseKind kind = DatabaseKind::kFindDb;
  Storage storage = Storage::kText;
  // "gfx906_60", as ParseTargetName takes it; "gfx906" for kernels of all GPUs of an architecture.
  // Empty if the name has none, as "miopen.db", which held all GPUs until 2021.
  std::string target;
  // The word in the place of the GPU, if it begins as one, in letters of any case: `target`, or a
  // mistyped or unknown GPU ("gfx906_6O"). Empty if the name has none.
  std::string claimed_gpu;
  // "HIP" or "OpenCL": the MIOpen backend of the times in a find-db; the two have different
  // kernels. Empty if the name has none.
  std::string backend;
  // A perf-db under the keys of a find-db, as text until 2020.
  bool has_find_keys = false;
};

// Reads the last part of `path`, before the ".bz2" of a packed file. kInvalidArgument, with the
// known names, for a name that no database of MIOpen has. kUnsupported for databases of fusions,
// because their keys are different, and of batch norms unless they are the text of a perf-db.
Result<FileName> ParseFileName(const std::filesystem::path& path);

// A GPU in names of databases.
struct GpuName {
  std::string arch;       // "gfx90a"
  std::string features;   // "_sramecc", "_nosramecc", "_xnack"; mostly empty.
  int compute_units = 0;  // For RDNA the number of work group processors.

  friend bool operator==(const GpuName&, const GpuName&) = default;
};

// Up to 64 compute units follow behind '_' in decimal ("gfx906_60"), more of them in hexadecimal
// without anything between ("gfx90a68" has 104).
Result<GpuName> ParseTargetName(std::string_view target);
std::string TargetName(const GpuName& gpu);

// kInvalidArgument if a database of `kind` cannot have this target: it must be a GPU, or for
// kernels also a whole architecture ("gfx906").
Status CheckTarget(std::string_view target, DatabaseKind kind);

}  // namespace attune::miopen
