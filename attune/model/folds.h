// Parts of samples for cross-validation. All samples of a configuration are in one part: otherwise
// the time of one algorithm would tell of another's on the same problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attune/model/feature_row.h"

namespace attune {

// Returns for each sample the fold that holds it out, below `folds`. Each fold has about as many
// configurations. The same for the same samples and seed.
std::vector<size_t> FoldsByConfiguration(std::span<const Sample> samples, size_t folds,
                                         uint64_t seed);

}  // namespace attune
