// Neighbours: problems so similar that the choice for one can serve the other.
#pragma once

#include <string>

#include "attune/problem/problem.h"

namespace attune {

// Operator::FamilyOf(): only problems of one family are neighbours. Empty for an operator without
// neighbours.
std::string FamilyOf(const Problem& problem);

// The position of a problem in its family.
Position PositionOf(const Problem& problem);

// Euclidean. Never less for a `b` that is farther away in one coordinate, rounding included.
double Distance(const Position& a, const Position& b);

}  // namespace attune
