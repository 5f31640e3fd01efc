// The kernels that a session measured with MIOpen's solvers through `fin`.
#pragma once

#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/formats/miopen/kernel_db.h"
#include "extensions/miopen/measured.h"

namespace attune::miopen {

// True if `fin` compiles the candidates of the session of `application`, which therefore have
// MIOpen's kernels.
bool IsCompiledByFin(Application& application);

// The kernels of `measured`, as compiling left them in the kernel cache of this machine, each name
// with its options once. Counts results without kernels there in `left_out`. kNotFound if the
// session's library is not here: its solvers give the cache keys of kernels.
Result<std::vector<KernelRow>> KernelsInSession(Application& application,
                                                const MeasuredResults& measured, LeftOut& left_out);

}  // namespace attune::miopen
