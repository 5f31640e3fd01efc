// How good the first answers of a run time are for shapes that nobody tuned, by the records of
// shapes that somebody did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "bench/figures.h"

namespace attune::bench {

// Appends "first_answer_*": what a model of the records chooses among all that it can, where the
// default is one of them, as dispatch does, over the best that was measured, of problems that it
// was not fitted to. What was not timed for the problem counts as NeighbourChooser::kUntried times
// the best; "untried_pct" says how often that is, and "tried_..." is of the rest. Beside it stand
// the default, the best known candidate, "of_timed_...", the least predicted time among those that
// were timed for the problem, and as the control what a model of shuffled times chooses. Each
// problem is held out once in each of `splits`, in fifths; `seed` is of the first one.
//
// `file` is CSV, by gzip or not, with the columns problem, candidate, time_ms and is_default (0 or
// 1), of convolutions. Ends the program with the reason if it cannot be read.
void AddFirstAnswerFigures(const std::filesystem::path& file, int splits, uint64_t seed,
                           std::vector<Figure>& figures);

}  // namespace attune::bench
