// What two databases of one GPU say of each other.
#pragma once

#include <span>
#include <string_view>

#include "attune/miopen/find_db.h"
#include "attune/miopen/finding.h"
#include "attune/miopen/perf_db.h"

namespace attune::miopen {

// Where each finding belongs.
struct PairFindings {
  Findings& of_find_db;  // kNoPerfRow, at the record's line.
  Findings& of_perf_db;  // kNoFindRecord, at the record's line or row.
};

// Whether each tunable solver of a record has parameters, and each parameters a record. Solvers
// that a record does not name may have some: records name the best few only.
void CheckParameters(const FindDb& find_db, const PerfDb& perf_db, PairFindings findings);

}  // namespace attune::miopen
