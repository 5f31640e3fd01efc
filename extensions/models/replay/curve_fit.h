// Monotone curves through points.
#pragma once

#include <vector>

namespace attune {

struct CurvePoint {
  double x = 0;
  double y = 0;

  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

// The falling curve of least squares for `points`, as the points between which it is straight (pool
// adjacent violators). Points of equal x count as their mean. REQUIRES: at least one.
std::vector<CurvePoint> FallingFit(std::vector<CurvePoint> points);

// Straight between the points, flat outside. REQUIRES: x of `points` and `at` ascend; one point.
std::vector<double> Straight(const std::vector<CurvePoint>& points, const std::vector<double>& at);

// Piecewise cubic Hermite curve that never overshoots (Fritsch and Butland 1984), flat outside.
// REQUIRES: x of `points` and `at` ascend, the former strictly; one point.
std::vector<double> Pchip(const std::vector<CurvePoint>& points, const std::vector<double>& at);

}  // namespace attune
