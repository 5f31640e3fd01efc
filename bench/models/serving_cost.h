// What a model costs a program that is served: reading it, and asking it about a shape never seen.
#pragma once

#include <vector>

#include "bench/figures.h"

namespace attune::bench {

// Appends, for models of 64 and of 500 made-up products by 8 candidates each, what reading takes in
// ms and what a prediction takes in us, of 32 candidates at once as a run time asks.
void AddServingCostFigures(std::vector<Figure>& figures);

}  // namespace attune::bench
