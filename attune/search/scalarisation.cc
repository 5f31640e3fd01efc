#include "attune/search/scalarisation.h"

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

constexpr double kRho = 0.05;
// Weight of the other objective at either end, so that it decides among equals.
constexpr double kLeastWeight = 0.01;
// Scaled values below kLeast are better than all positive values, and still positive.
constexpr double kLeast = 1e-3;
constexpr double kMost = 1e9;

// Rising, positive, and x + kLeast where x is.
double BentAboveZero(double x) { return x >= 0 ? x + kLeast : kLeast / (1 - x / kLeast); }

}  // namespace

double Scaled(double value, double usual, bool is_much_sought) {
  if (usual > 0) {
    if (!is_much_sought) return std::clamp(BentAboveZero(value / usual), 1e-12, kMost);
    // A value of 0 or less ranks behind every positive value.
    return value > 0 ? std::clamp(usual / value, 1e-12, kMost) : kMost * (2 - value / usual);
  }
  const double unit = usual == 0 ? 1 : -usual;
  const double worse = (is_much_sought ? usual - value : value - usual) / unit;
  return std::clamp(BentAboveZero(1 + worse), 1e-12, kMost);
}

double Tchebycheff(std::span<const double> scaled, std::span<const double> weights) {
  double most = 0;
  double sum = 0;
  for (size_t i = 0; i < scaled.size(); ++i) {
    const double weighted = weights[i] * scaled[i];
    most = std::max(most, weighted);
    sum += weighted;
  }
  return most + kRho * sum;
}

std::vector<std::vector<double>> FrontWeights(size_t count) {
  std::vector<std::vector<double>> weights;
  const auto add = [&](double first) {
    const double inside = std::clamp(first, kLeastWeight, 1 - kLeastWeight);
    weights.push_back({inside, 1 - inside});
  };
  add(1);
  add(0);
  for (size_t i = 1; i + 1 < count; ++i) {
    add(1 - static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return weights;
}

}  // namespace attune
