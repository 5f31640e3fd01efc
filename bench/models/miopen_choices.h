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

// Appends the results of boosted trees for choosing on a tenth of the records that was held out, by
// record and by layer: how often they choose the best of those listed, the geometric mean of the
// chosen time over the best one, the same for several rules that select candidates of a record to
// measure (for one, all that are predicted within 1.5 times the best), their share of the GPU time
// of measuring everything (beside the share of the best ones alone), the cost of a prediction, and
// the size of the model. Beside them are the solver that was best most often, and trees of shuffled
// times. Of layers five tenths are held out in turn, drawn by `seed` and the four numbers after it,
// with the same beside them. Also the cost of a fit of 10,000 samples.
void AddMiopenFigures(const miopen::FindSamples& found, const std::string& prefix, uint64_t seed,
                      std::vector<Figure>& figures);

}  // namespace attune::bench
