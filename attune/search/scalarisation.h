// One number for several objectives, so that a searcher that knows only one finds their front.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attune {

// Distance of `value` from the best possible one, in units of `usual`, the value known before the
// search: 1 is as good as that, less is better. Always above 0 and finite. For positive values it
// is value / usual, or usual / value where much is sought; else 1 plus or minus the difference in
// units of |usual| (of 1 where that is 0), bent so that it stays positive.
double Scaled(double value, double usual, bool is_much_sought);

// The augmented weighted Tchebycheff function
//
//   max_i(w_i f_i) + rho sum_i(w_i f_i),  rho = 0.05
//
// of scaled values. Every point of a front, also of a non-convex one, is its minimum for some
// weights. Of points with the same maximum, the sum prefers those that no other dominates. (R. E.
// Steuer and E.-U. Choo, "An interactive weighted Tchebycheff procedure for multiple objective
// programming", Mathematical Programming 26, 1983; rho as in J. Knowles, "ParEGO", IEEE
// Transactions on Evolutionary Computation 10(1), 2006, equation 2.) REQUIRES: as many weights as
// values.
double Tchebycheff(std::span<const double> scaled, std::span<const double> weights);

// `count` pairs of weights that sum to 1, evenly spread, the ends first: those of the first and of
// the second objective (almost) alone, then between them. One searcher for each has a function that
// stays the same, which it can learn (the decomposition of Q. Zhang and H. Li, "MOEA/D", IEEE
// Transactions on Evolutionary Computation 11(6), 2007). REQUIRES: count >= 2.
std::vector<std::vector<double>> FrontWeights(size_t count);

}  // namespace attune
