// Estimates how long a reference takes, before anything is computed.
#pragma once

#include "attune/problem/problem.h"

namespace attune {

// Multiply-adds of the direct algorithm; 0 for a kernel of a user, which brings its own reference.
// REQUIRES: `problem` is valid.
double ReferenceMultiplyAdds(const Problem& problem);

// Cost of one multiply-add, in those of plain f64: double-double takes ten times as long.
double MultiplyAddCost(const Problem& problem);

// Time of ProblemData::Create for the reference on that many cores, in nanoseconds: from
// measurements on two cores of a server, within a factor of three or so.
double ProcessorReferenceNs(const Problem& problem, int cores);

// Returns true if a device should compute this reference: if its expected time, with all transfers
// both ways, is below that of `cores` of the processor. A guess for GPUs with fast f64; others take
// longer, and still less than the processor for large problems.
bool PaysOnDevice(const Problem& problem, int cores);

}  // namespace attune
