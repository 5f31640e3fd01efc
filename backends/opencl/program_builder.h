// Source -> binary, and binary -> kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "backends/opencl/inventory.h"

namespace attune::opencl {

// The recipe of `source` for `entry`. A compiler that works lazily compiles `warm_up` at build
// time; empty for none. It is part of the recipe, because it is part of the content of the
// artifact. `options` come behind attune's own, and may name another standard than those.
BuildRecipe MakeRecipe(const DeviceEntry& entry, std::string_view source,
                       const std::string& warm_up, const std::vector<std::string>& options = {});

// The recipe of a draft of `recipe` (Drafter): the source itself, once PoCL has compiled it into
// its cache. The binary of `recipe` takes twice as long, because PoCL then also compiles every
// kernel of the program for any work-group size.
BuildRecipe DraftOf(BuildRecipe recipe);

// Compiles for the device that the recipe names. kInvalidArgument holds the compiler's log;
// kUnavailable if there is no such device here.
//
// PoCL translates a kernel for one work-group size at its first launch, and its binaries hold only
// the translations made before they were requested. So a PoCL program is launched once, on buffers
// of zeros, with the recipe's warm-up plan before its binary is taken: the process that loads the
// binary then compiles nothing.
Result<Artifact> BuildArtifact(const Inventory& inventory, const BuildRecipe& recipe);

// A program out of an artifact, ready on `context`.
Result<ProgramHandle> LoadProgram(cl_context context, const DeviceEntry& entry,
                                  const Artifact& artifact);

}  // namespace attune::opencl
