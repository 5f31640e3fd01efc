// Merges databases of one GPU. Takes the fastest entry of any, never the last one read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/perf_db.h"

namespace attune::miopen {

struct MergedFindDb {
  FindDb db;
  // The index of the source database, for each item of each record.
  std::vector<std::vector<size_t>> sources;
};

// The fastest time of each solver of each problem; the first of equal ones. Records are of
// `generation`, in the order in which their keys came.
MergedFindDb Merge(std::span<const FindDb* const> databases, Generation generation);

struct PerfSource {
  const PerfDb* db = nullptr;     // All of one form, not kFindKey.
  const FindDb* times = nullptr;  // Measured with the parameters of `db`; null: unknown.
};

// Why parameters were taken rather than others.
enum class PerfReason {
  kFaster,  // They are no slower.
  kTimed,   // They have a valid time, and the others none.
  kFirst,   // Neither has a time; these came first.
};

// Parameters of one solver for one problem that differ between databases.
struct PerfConflict {
  std::string key;
  std::string solver;
  size_t taken = 0;  // Index of the database.
  size_t left = 0;
  PerfReason reason = PerfReason::kFirst;
};

struct MergedPerfDb {
  PerfDb db;
  std::vector<std::vector<size_t>> sources;  // As in MergedFindDb.
  std::vector<PerfConflict> conflicts;
};

// If parameters differ, takes those of the faster time. Parameters without a time lose against any
// with one; if none has a time, the first ones win. Of databases with equal parameters the fastest
// counts.
MergedPerfDb Merge(std::span<const PerfSource> databases);

}  // namespace attune::miopen
