// How good the first answers of a run time are for shapes that nobody tuned, by the records of
// shapes that somebody did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "bench/figures.h"

namespace attune::bench {

// Appends "first_answer_*": what a model of the records chooses (the known candidate with the least
// expected time, where the default is known, as dispatch does), over the best that was measured, of
// problems that it was not fitted to; the default's, the best known candidate's and, as the
// control, that of a model of shuffled times beside it. Each problem is held out once in each of
// `splits`, in fifths; `seed` is of the first one.
//
// `file` is CSV, by gzip or not, with the columns problem, candidate, time_ms and is_default (0 or
// 1), of convolutions. Ends the program with the reason if it cannot be read.
void AddFirstAnswerFigures(const std::filesystem::path& file, int splits, uint64_t seed,
                           std::vector<Figure>& figures);

}  // namespace attune::bench
