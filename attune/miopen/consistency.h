// What two databases of one GPU say of each other.
#pragma once

#include <cstdint>
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

// A kernel of a database, by what names it.
struct NamedKernel {
  std::string_view name;  // "conv3x3.s.o"
  uint64_t id = 0;        // Of its row.
};
// A find-db of a GPU that the kernels are for.
struct CheckedFindDb {
  const FindDb& db;
  Findings& findings;  // kNoKernel, at the record's line.
};

// Whether the quickest solver of each record has a kernel, which is what kernel dbs are made of,
// and whether the solver of each kernel, whatever it is compiled for, is in some record. Only of
// solvers whose source is known for certain (kernel_source.h). kOrphanedKernel goes to
// `of_kernels`.
void CheckKernels(std::span<const CheckedFindDb> find_dbs, std::span<const NamedKernel> kernels,
                  Findings& of_kernels);

}  // namespace attune::miopen
