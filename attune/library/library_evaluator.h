// Evaluates candidates of a library by running its program.
#pragma once

#include <memory>
#include <string>

#include "attune/compile/kernel_cache.h"
#include "attune/library/library.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// Borrows `library`. Builds through `cache`, which outlives it. Each sample is one run of the
// program, which chooses how often it launches, and which must fail if its results are wrong.
// attune does not own operands, references and caches there, so that rotated operands and compared
// outputs are kUnsupported, and times with cold caches fail.
std::unique_ptr<Evaluator> MakeLibraryEvaluator(const Library& library, std::string device,
                                                KernelCache& cache);

}  // namespace attune
