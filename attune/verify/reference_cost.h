// How long a reference takes, before anything is computed.
#pragma once

#include "attune/problem/problem.h"

namespace attune {

// Those of the direct algorithm; 0 for a kernel of a user, which brings its own reference.
// REQUIRES: `problem` is valid.
double ReferenceMultiplyAdds(const Problem& problem);

// What one of them costs, in those of plain f64: double-double takes ten times as long.
double MultiplyAddCost(const Problem& problem);

// What ProblemData::Create takes for the reference on so many cores, in nanoseconds: from what two
// cores of a server took, within a factor of three or so.
double ProcessorReferenceNs(const Problem& problem, int cores);

// Whether a device that computes references is to be asked for this one: where it is expected to
// take less, all that travels to it and back included, than `cores` of the processor do. A guess
// for GPUs whose f64 is no afterthought; others take longer, and still less than the processor for
// what is large.
bool PaysOnDevice(const Problem& problem, int cores);

}  // namespace attune
