#include "attune/index/neighbour.h"

#include <cmath>

namespace attune {

std::string FamilyOf(const Problem& problem) { return problem.op().FamilyOf(problem); }

Position PositionOf(const Problem& problem) { return problem.op().PositionOf(problem); }

double Distance(const Position& a, const Position& b) {
  double sum = 0;
  for (size_t i = 0; i < kPositionSize; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

}  // namespace attune
