// What to try first, by what was measured elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace attune {

// Times of one other device, or of another size, by index in the space; nothing where a config
// failed or nobody tried it.
using TimesElsewhere = std::vector<std::optional<double>>;

// At most `count` indices for SearcherOptions::first. Each of `elsewhere` stands for what the new
// place may be like: the first index is the best on the geometric mean over all of them, each
// further one improves the geometric mean over them of the best that is chosen so far the most.
// Times of different places are only compared with the best of their own, so units do not matter.
// REQUIRES: all of `elsewhere` are of one size.
std::vector<uint64_t> FirstGuesses(const std::vector<TimesElsewhere>& elsewhere, size_t count);

}  // namespace attune
