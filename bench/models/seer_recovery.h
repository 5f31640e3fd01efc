// SEER's model on data made from known coefficients.
#pragma once

#include <vector>

#include "bench/figures.h"

namespace attune::bench {

// Appends, over all kernel variants, by the fixed rules and as published, how far off the worst
// coefficient is that was found again (in billionths of the known one), and of how many layers of
// the training grid the class tree says another class than the one that made the data; the same of
// models that were trained on records with the layers of others.
void AddSeerRecoveryFigures(std::vector<Figure>& figures);

}  // namespace attune::bench
