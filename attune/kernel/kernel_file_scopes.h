// Names that each expression of a kernel file may read.
#pragma once

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/problem_fields.h"

namespace attune::kernel {

// Ok, or the JSON pointer of the first expression that reads a name which does not exist or is not
// known where it is evaluated, or of the first name that is taken already.
Status CheckScopes(const KernelFile& file, const FieldNames& fields);

}  // namespace attune::kernel
