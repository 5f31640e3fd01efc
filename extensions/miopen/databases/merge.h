// Databases of one GPU made one. What is taken is the fastest that any of them has, never the last
// that was read.
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
  // For each item of each record, which of the databases it is from.
  std::vector<std::vector<size_t>> sources;
};

// Of each solver of each problem the fastest time; the first of equal ones. Records are of
// `generation`, in the order in which their keys came.
MergedFindDb Merge(std::span<const FindDb* const> databases, Generation generation);

struct PerfSource {
  const PerfDb* db = nullptr;     // Of one form with the others, not kFindKey.
  const FindDb* times = nullptr;  // Measured with the parameters of `db`; null: unknown.
};

// Why parameters were taken rather than others.
enum class PerfReason {
  kFaster,  // They are no slower.
  kTimed,   // They have a valid time, and the others none.
  kFirst,   // Nobody has a time, and they stood first.
};

// Parameters of one solver for one problem that differ between databases.
struct PerfConflict {
  std::string key;
  std::string solver;
  size_t taken = 0;  // Which of the databases.
  size_t left = 0;
  PerfReason reason = PerfReason::kFirst;
};

struct MergedPerfDb {
  PerfDb db;
  std::vector<std::vector<size_t>> sources;  // As in MergedFindDb.
  std::vector<PerfConflict> conflicts;
};

// Where parameters differ, those of the faster time are taken; those without one lose against any
// that has, and of those without the first is taken. Of databases with the same ones the fastest
// counts.
MergedPerfDb Merge(std::span<const PerfSource> databases);

}  // namespace attune::miopen
