// Pareto fronts for people and as JSON: results where more than the time counts.
#pragma once

#include <span>
#include <string>

#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "attune/record/front.h"
#include "attune/trial/figure.h"

namespace attune {

// "1.23 ms", "0.0451 J", "3.5 dB": a value of `objective` in its unit.
std::string FormatFigure(double value, const Objective& objective);

// The front, best in the first objective first, each figure with half of its interval in percent;
// below it the default, if it is not on it.
Table FrontTable(const ObjectiveFront& front);

// "objectives", "set", and all "points" with their figures.
Json ToJson(const ObjectiveFront& front);

}  // namespace attune
