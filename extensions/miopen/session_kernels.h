// The kernels of what a session measured with MIOpen's solvers through `fin`.
#pragma once

#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/formats/miopen/kernel_db.h"
#include "extensions/miopen/measured.h"

namespace attune::miopen {

// Whether candidates of the session of `application` are compiled by `fin`, and so have kernels of
// MIOpen's.
bool IsCompiledByFin(Application& application);

// Those of `measured`, as compiling left them in the kernel cache of this machine, each name with
// its options once. Results without kernels there are counted in `left_out`. kNotFound where the
// session's library is not here: its solvers say under what kernels are kept.
Result<std::vector<KernelRow>> KernelsInSession(Application& application,
                                                const MeasuredResults& measured, LeftOut& left_out);

}  // namespace attune::miopen
