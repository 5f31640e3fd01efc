// Which names each expression of a kernel file may read.
#pragma once

#include "attune/base/status.h"
#include "backends/opencl/kernel_file.h"
#include "backends/opencl/problem_fields.h"

namespace attune::opencl {

// Ok, or the JSON pointer of the first expression that reads a name which does not exist or is not
// known where it is evaluated, or of the first name that is taken already.
Status CheckScopes(const KernelFile& file, const FieldNames& fields);

}  // namespace attune::opencl
