// What databases of one GPU say of each other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/finding.h"
#include "attune/formats/miopen/perf_db.h"

namespace attune::miopen {

// Databases of one GPU, and where what is found in each belongs.
struct CheckedFindDb {
  const FindDb& db;
  Findings& findings;  // kNoPerfRow and kNoKernel, at the record's line.
};
struct CheckedPerfDb {
  const PerfDb& db;
  Findings& findings;  // kNoFindRecord, at the record's line or row.
};

// Whether each tunable solver of a record has parameters in one of the perf-dbs, and each
// parameters a record in one of the find-dbs. Solvers that a record does not name may have some:
// records name the best few only. Nothing is asked where either are none.
void CheckParameters(std::span<const CheckedFindDb> find_dbs,
                     std::span<const CheckedPerfDb> perf_dbs);

// A kernel of a database, by what names it.
struct NamedKernel {
  std::string_view name;  // "conv3x3.s.o"
  uint64_t id = 0;        // Of its row.
};

// Whether the quickest solver of each record has a kernel, which is what kernel dbs are made of,
// and whether the solver of each kernel, whatever it is compiled for, is in some record. Only of
// solvers whose source is known for certain (kernel_source.h). kOrphanedKernel goes to
// `of_kernels`.
void CheckKernels(std::span<const CheckedFindDb> find_dbs, std::span<const NamedKernel> kernels,
                  Findings& of_kernels);

}  // namespace attune::miopen
