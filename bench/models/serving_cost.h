// The cost of a model for a served program: reading it, and predicting for an unseen shape.
#pragma once

#include <vector>

#include "bench/figures.h"

namespace attune::bench {

// Appends, for models of 64, 150 and 500 made-up products by 32 candidates each (the last one has
// trees for choosing alone, the others what cross-validation chose of all members), what reading
// takes in ms and what a prediction takes in us, of all candidates at once as a run time asks,
// beside the floor: their part of computing the problem's features. And for models of 80 and 250
// products, of 400 candidates of which each was tried for an eighth, what a choice takes in us.
void AddServingCostFigures(std::vector<Figure>& figures);

}  // namespace attune::bench
