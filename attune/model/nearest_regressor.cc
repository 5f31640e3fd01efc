#include "attune/model/nearest_regressor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr size_t kMostPoints = 1 << 24;
constexpr double kSmallestDistance = 1e-3;

}  // namespace

Result<std::unique_ptr<NearestRegressor>> NearestRegressor::Make(FeatureSet features,
                                                                 DevicePeaks peaks) {
  std::unique_ptr<NearestRegressor> model(new NearestRegressor);
  ATTUNE_ASSIGN_OR_RETURN(model->roofline_, RooflineRegressor::Make(features, peaks));
  model->features_ = std::move(features);
  return model;
}

const std::vector<NearestRegressor::Point>& NearestRegressor::PointsOf(
    std::string_view algorithm) const {
  const auto found = points_.find(algorithm);
  return found != points_.end() ? found->second : points_.find("")->second;
}

Status NearestRegressor::Fit(std::span<const Sample> samples) {
  if (samples.empty()) return FailedPrecondition("Neighbours cannot be found among no samples.");
  ATTUNE_RETURN_IF_ERROR(roofline_->Fit(samples));
  points_.clear();
  const std::vector<uint32_t> places = places_.Take(samples);
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    const Point point = {places[i], std::log(sample.time_ms / PredictOne(*roofline_, sample.row))};
    points_[""].push_back(point);
    if (!sample.row.algorithm.empty()) points_[sample.row.algorithm].push_back(point);
  }
  return Status::Ok();
}

double NearestRegressor::LogRatioNear(const std::vector<Point>& points,
                                      std::span<const double> distances) {
  // Squared distances and ratios of the nearest so far, in order.
  std::array<std::pair<double, double>, kNeighbours> near;
  size_t count = 0;
  for (const Point& point : points) {
    const std::pair<double, double> here(distances[point.place], point.log_ratio);
    if (count < kNeighbours) {
      near[count++] = here;
    } else if (here < near[kNeighbours - 1]) {
      near[kNeighbours - 1] = here;
    } else {
      continue;
    }
    for (size_t i = count - 1; i > 0 && near[i] < near[i - 1]; --i) std::swap(near[i], near[i - 1]);
  }
  double sum = 0;
  double weights = 0;
  for (size_t i = 0; i < count; ++i) {
    const double weight = 1 / std::max(std::sqrt(near[i].first), kSmallestDistance);
    sum += weight * near[i].second;
    weights += weight;
  }
  return sum / weights;
}

void NearestRegressor::Predict(std::span<const FeatureRow> rows,
                               std::span<double> median_ms) const {
  std::vector<double> distances;
  for (size_t i = 0; i < rows.size(); ++i) {
    // Ways to compute one problem stand behind each other.
    if (i == 0 || rows[i].values != rows[i - 1].values) {
      distances = places_.SquaredDistancesFrom(rows[i].values);
    }
    median_ms[i] = PredictOne(*roofline_, rows[i]) *
                   std::exp(LogRatioNear(PointsOf(rows[i].algorithm), distances));
  }
}

void NearestRegressor::PredictEach(const FeatureRow& row,
                                   std::span<const std::string_view> algorithms,
                                   std::span<double> median_ms) const {
  const double roofline_ms = PredictOne(*roofline_, row);
  const std::vector<double> distances = places_.SquaredDistancesFrom(row.values);
  for (size_t i = 0; i < algorithms.size(); ++i) {
    median_ms[i] = roofline_ms * std::exp(LogRatioNear(PointsOf(algorithms[i]), distances));
  }
}

void NearestRegressor::AppendText(std::string& text) const {
  roofline_->AppendText(text);
  places_.AppendText(text);
  AppendCount(text, "algorithms", points_.size());
  for (const auto& [name, points] : points_) {
    AppendWord(text, "of", name);
    AppendCount(text, "points", points.size());
    for (const Point& point : points) {
      text += fmt::format("p {} {}\n", point.place, HexFloat(point.log_ratio));
    }
  }
}

std::unique_ptr<Regressor> NearestRegressor::Fresh() const {
  std::unique_ptr<NearestRegressor> model(new NearestRegressor);
  model->features_ = features_;
  model->roofline_ = roofline_->Fresh();
  return model;
}

Result<NearestRegressor::Point> NearestRegressor::ReadPoint(ModelLines& lines, size_t places) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, lines.Words("p"));
  const auto place = ParseIndex(words.front());
  const auto log_ratio = words.size() == 2 ? ParseHexFloat(words.back()) : std::nullopt;
  if (!log_ratio.has_value() || !place.has_value() || *place >= places) {
    return lines.Wrong(fmt::format("a point is one of {} places and a time.", places));
  }
  return Point{static_cast<uint32_t>(*place), *log_ratio};
}

Result<std::unique_ptr<Regressor>> NearestRegressor::ReadFrom(ModelLines& lines,
                                                              const FeatureSet& features) {
  std::unique_ptr<NearestRegressor> model(new NearestRegressor);
  model->features_ = features;
  ATTUNE_ASSIGN_OR_RETURN(model->roofline_, RooflineRegressor::ReadFrom(lines, features));
  ATTUNE_ASSIGN_OR_RETURN(model->places_, Places::ReadFrom(lines, features.operation.size()));
  ATTUNE_ASSIGN_OR_RETURN(const size_t algorithms, lines.Count("algorithms", kMostPoints));
  for (size_t i = 0; i < algorithms; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("of"));
    ATTUNE_ASSIGN_OR_RETURN(const size_t count, lines.Count("points", kMostPoints));
    if (count == 0 || model->points_.contains(name)) {
      return lines.Wrong(fmt::format("'{}' has no points, or is there twice.", name));
    }
    std::vector<Point>& points = model->points_[name];
    for (size_t j = 0; j < count; ++j) {
      ATTUNE_ASSIGN_OR_RETURN(const Point point, ReadPoint(lines, model->places_.size()));
      points.push_back(point);
    }
  }
  if (!model->points_.contains("")) return lines.Wrong("no points of all algorithms.");
  return std::unique_ptr<Regressor>(std::move(model));
}

}  // namespace attune
