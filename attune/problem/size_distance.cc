#include "attune/problem/size_distance.h"

#include <cmath>
#include <limits>

namespace attune {

double SizeDistance(const std::map<std::string, int64_t, std::less<>>& a,
                    const std::map<std::string, int64_t, std::less<>>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (auto left = a.begin(), right = b.begin(); left != a.end(); ++left, ++right) {
    if (left->first != right->first) return std::numeric_limits<double>::infinity();
    const double difference = std::log2(1 + static_cast<double>(left->second)) -
                              std::log2(1 + static_cast<double>(right->second));
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

}  // namespace attune
