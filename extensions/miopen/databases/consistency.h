// Consistency between databases of one GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/finding.h"
#include "attune/formats/miopen/perf_db.h"

namespace attune::miopen {

// Databases of one GPU, each with the destination of its findings.
struct CheckedFindDb {
  const FindDb& db;
  Findings& findings;  // kNoPerfRow and kNoKernel, at the record's line.
};
struct CheckedPerfDb {
  const PerfDb& db;
  Findings& findings;  // kNoFindRecord, at the record's line or row.
};

// Checks that each tunable solver of a record has parameters in one of the perf-dbs, and each set
// of parameters a record in one of the find-dbs. Solvers that a record does not name may have some:
// records name the best few only. Checks nothing if either list is empty.
void CheckParameters(std::span<const CheckedFindDb> find_dbs,
                     std::span<const CheckedPerfDb> perf_dbs);

// A kernel of a database, by its name.
struct NamedKernel {
  std::string_view name;  // "conv3x3.s.o"
  uint64_t id = 0;        // Row id.
};

// Checks that the quickest solver of each record has a kernel, since kernel dbs are made of those,
// and that the solver of each kernel, for any target, is in some record. Covers only solvers of
// which the source is known for certain (kernel_source.h). kOrphanedKernel goes to `of_kernels`.
void CheckKernels(std::span<const CheckedFindDb> find_dbs, std::span<const NamedKernel> kernels,
                  Findings& of_kernels);

}  // namespace attune::miopen
