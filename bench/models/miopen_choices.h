// Choosing among the solvers that a find-db of MIOpen lists.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "extensions/models/samples/time_samples.h"

namespace attune::bench {

// The samples of `miopen/NAME.HIP.fdb.txt.bz2`.
Result<miopen::FindSamples> ReadFindSamples(const std::filesystem::path& data,
                                            const std::string& name);

// Appends what boosted trees for choosing reach on a tenth of the records that was held out, by
// record and by layer: how often they choose the best of those listed, the geometric mean of the
// chosen time over the best one, the same for several rules of what is measured of a record (all
// that are predicted within 1.5 times the best, for one), what share of the GPU time of measuring
// everything that takes (beside the share that the best ones alone take), what a prediction costs,
// and the size of the model; beside them the solver that was best most often, and trees of shuffled
// times. Of layers five tenths are held out in turn, drawn by `seed` and the four numbers after it,
// with the same beside them. And what a fit of 10,000 samples takes.
void AddMiopenFigures(const miopen::FindSamples& found, const std::string& prefix, uint64_t seed,
                      std::vector<Figure>& figures);

}  // namespace attune::bench
