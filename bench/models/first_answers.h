// The quality of a runtime's first answers for untuned shapes, by the records of tuned shapes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "bench/figures.h"

namespace attune::bench {

// Appends "first_answer_*": the choice of a model of the records, over the best measured time, of
// problems that it was not fitted to. The model chooses among all its candidates, and the default
// is one of them, as in dispatch. An untimed choice counts as NeighbourChooser::kUntried times the
// best; "untried_pct" is its share, and "tried_..." covers the rest. Beside it are the default, the
// best known candidate, "of_timed_...", the minimum predicted time among candidates timed for the
// problem, and as the control the choice of a model of shuffled times. Each problem is held out
// once in each of `splits`, in fifths; `seed` is of the first one.
//
// `file` is CSV, by gzip or not, with the columns problem, candidate, time_ms and is_default (0 or
// 1), of convolutions. Ends the program with the reason if it cannot be read.
void AddFirstAnswerFigures(const std::filesystem::path& file, int splits, uint64_t seed,
                           std::vector<Figure>& figures);

}  // namespace attune::bench
