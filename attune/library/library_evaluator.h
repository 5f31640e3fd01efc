// Evaluates candidates of a library by running its program.
#pragma once

#include <memory>
#include <string>

#include "attune/compile/kernel_cache.h"
#include "attune/library/library.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// Borrows `library`. Builds through `cache`, which outlives it. Each sample is one run of the
// program: how often that launches is its own business, and so is whether what it computes is
// right, of which it has to fail if it is not. Operands, references and caches are not attune's
// there, so that rotated operands and compared outputs are kUnsupported, and times with cold caches
// fail.
std::unique_ptr<Evaluator> MakeLibraryEvaluator(const Library& library, std::string device,
                                                KernelCache& cache);

}  // namespace attune
