// Databases of one GPU made one. What is taken is the fastest that any of them has, never the last
// that was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/miopen/find_db.h"
#include "attune/miopen/perf_db.h"

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
  const PerfDb* db = nullptr;     // Under PerfKeyForm::kPerfKey.
  const FindDb* times = nullptr;  // Measured with the parameters of `db`; null: unknown.
};

// Parameters of one solver for one problem that differ between databases.
struct PerfConflict {
  std::string key;
  std::string solver;
  size_t taken = 0;  // Which of the databases.
  size_t left = 0;
  bool by_time = false;  // The one taken is faster; else it merely stood first.
};

struct MergedPerfDb {
  PerfDb db;
  std::vector<std::vector<size_t>> sources;  // As in MergedFindDb.
  std::vector<PerfConflict> conflicts;
};

// Where parameters differ, those of the faster time are taken if both times are known, else the
// first. Of databases with the same ones the fastest counts.
MergedPerfDb Merge(std::span<const PerfSource> databases);

}  // namespace attune::miopen
