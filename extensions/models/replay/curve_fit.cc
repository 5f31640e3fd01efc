#include "extensions/models/replay/curve_fit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace attune {
namespace {

// Points to which the fit gives one height.
struct Block {
  double sum = 0;
  double weight = 0;
  double first_x = 0;
  double last_x = 0;

  double mean() const { return sum / weight; }
};

std::vector<Block> MeansOfEqualX(const std::vector<CurvePoint>& points) {
  std::vector<Block> blocks;
  for (const CurvePoint& point : points) {
    if (blocks.empty() || blocks.back().last_x != point.x) {
      blocks.push_back({0, 0, point.x, point.x});
    }
    blocks.back().sum += point.y;
    blocks.back().weight += 1;
  }
  return blocks;
}

// The slope at an end of the curve, from the two segments next to it, kept from overshooting.
double EndSlope(double near_width, double far_width, double near, double far) {
  double slope =
      ((2 * near_width + far_width) * near - near_width * far) / (near_width + far_width);
  if (slope * near <= 0) return 0;
  if (near * far < 0 && std::abs(slope) > 3 * std::abs(near)) slope = 3 * near;
  return slope;
}

std::vector<double> Slopes(const std::vector<CurvePoint>& points) {
  const size_t segments = points.size() - 1;
  std::vector<double> width(segments);
  std::vector<double> rise(segments);
  for (size_t i = 0; i < segments; ++i) {
    width[i] = points[i + 1].x - points[i].x;
    rise[i] = (points[i + 1].y - points[i].y) / width[i];
  }
  if (segments == 1) return {rise[0], rise[0]};
  std::vector<double> slopes(points.size(), 0);
  for (size_t i = 1; i < segments; ++i) {
    if (rise[i - 1] * rise[i] <= 0) continue;
    const double before = 2 * width[i] + width[i - 1];
    const double behind = width[i] + 2 * width[i - 1];
    slopes[i] = (before + behind) / (before / rise[i - 1] + behind / rise[i]);
  }
  slopes.front() = EndSlope(width[0], width[1], rise[0], rise[1]);
  slopes.back() =
      EndSlope(width[segments - 1], width[segments - 2], rise[segments - 1], rise[segments - 2]);
  return slopes;
}

}  // namespace

std::vector<CurvePoint> FallingFit(std::vector<CurvePoint> points) {
  assert(!points.empty());
  std::sort(points.begin(), points.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; });
  std::vector<Block> fitted;
  for (const Block& next : MeansOfEqualX(points)) {
    Block block = next;
    while (!fitted.empty() && fitted.back().mean() < block.mean()) {
      block.sum += fitted.back().sum;
      block.weight += fitted.back().weight;
      block.first_x = fitted.back().first_x;
      fitted.pop_back();
    }
    fitted.push_back(block);
  }
  std::vector<CurvePoint> curve;
  for (const Block& block : fitted) {
    curve.push_back({block.first_x, block.mean()});
    if (block.last_x != block.first_x) curve.push_back({block.last_x, block.mean()});
  }
  return curve;
}

std::vector<double> Straight(const std::vector<CurvePoint>& points, const std::vector<double>& at) {
  assert(!points.empty());
  std::vector<double> values;
  size_t behind = 0;  // The first point that is not before x.
  for (const double x : at) {
    while (behind < points.size() && points[behind].x < x) ++behind;
    if (behind == 0 || behind == points.size()) {
      values.push_back(behind == 0 ? points.front().y : points.back().y);
      continue;
    }
    const CurvePoint& a = points[behind - 1];
    const CurvePoint& b = points[behind];
    values.push_back(a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x));
  }
  return values;
}

std::vector<double> Pchip(const std::vector<CurvePoint>& points, const std::vector<double>& at) {
  assert(!points.empty());
  if (points.size() == 1) return std::vector<double>(at.size(), points[0].y);
  const std::vector<double> slopes = Slopes(points);
  std::vector<double> values;
  size_t i = 0;
  for (const double x : at) {
    while (i + 2 < points.size() && x > points[i + 1].x) ++i;
    const double width = points[i + 1].x - points[i].x;
    const double t = std::clamp((x - points[i].x) / width, 0.0, 1.0);
    const double t2 = t * t;
    const double t3 = t2 * t;
    values.push_back((2 * t3 - 3 * t2 + 1) * points[i].y + (t3 - 2 * t2 + t) * width * slopes[i] +
                     (3 * t2 - 2 * t3) * points[i + 1].y + (t3 - t2) * width * slopes[i + 1]);
  }
  return values;
}

}  // namespace attune
