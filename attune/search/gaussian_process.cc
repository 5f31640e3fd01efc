#include "attune/search/gaussian_process.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace attune {
namespace {

// Variance of the noise, in units of that of the targets.
constexpr float kProcessNoise = 0.02f;
constexpr float kLeastPivot = 1e-6f;
// Before the first fit, two points that differ entirely in one coordinate correlate by 0.6.
constexpr double kFirstWeight = 0.5;
constexpr double kLowestWeight = 0.02;
constexpr double kHighestWeight = 8;
// The logarithm of the prior falls by this factor times the square of the doublings of a weight.
constexpr double kWeightPenalty = 0.1;
// Weights that a fit tries to double or halve.
constexpr int kSteps = 4;
constexpr float kLeastScale = 0.05f;

}  // namespace

GaussianProcess::GaussianProcess(std::vector<float> jumps)
    : jumps_(std::move(jumps)),
      weights_(jumps_.size(), kFirstWeight),
      correlations_(jumps_.size() * kLevels) {
  for (size_t i = 0; i < jumps_.size(); ++i) SetWeight(i, kFirstWeight);
}

void GaussianProcess::SetWeight(size_t coordinate, double weight) {
  weights_[coordinate] = weight;
  float* const correlations = correlations_.data() + coordinate * kLevels;
  const float jump = jumps_[coordinate];
  correlations[0] = 1;
  for (size_t level = 1; level < kLevels; ++level) {
    const float distance = jump + (1 - jump) * static_cast<float>(level) / (kLevels - 1);
    correlations[level] = std::exp(-static_cast<float>(weight) * distance);
  }
}

void GaussianProcess::Standardise(std::span<const float> targets) {
  values_.assign(targets.begin(), targets.end());
  const auto count = static_cast<float>(targets.size());
  float sum = 0;
  for (const float value : values_) sum += value;
  mean_ = sum / count;
  float squares = 0;
  for (float& value : values_) {
    value -= mean_;
    squares += value * value;
  }
  deviation_ = std::sqrt(squares / count + 1e-9f);
  for (float& value : values_) value /= deviation_;
}

void GaussianProcess::Fit(const FeatureTable& table, std::span<const uint32_t> rows,
                          std::span<const float> targets, Random& random) {
  assert(!rows.empty() && rows.size() == targets.size());
  count_ = rows.size();
  points_.clear();
  for (const uint32_t row : rows) {
    points_.insert(points_.end(), table.row(row), table.row(row) + jumps_.size());
  }
  Standardise(targets);
  double best = Factor();
  for (int step = 0; step < kSteps && !jumps_.empty(); ++step) {
    const size_t coordinate = random.Below(jumps_.size());
    const double old = weights_[coordinate];
    const double other = old * (random.Below(2) == 0 ? 0.5 : 2.0);
    SetWeight(coordinate, std::clamp(other, kLowestWeight, kHighestWeight));
    const double now = Factor();
    if (now > best) {
      best = now;
    } else {
      SetWeight(coordinate, old);
    }
  }
  Factor();
  float fit = 0;
  for (size_t i = 0; i < count_; ++i) fit += alpha_[i] * values_[i];
  scale_ = std::max(kLeastScale, fit / static_cast<float>(count_));
}

double GaussianProcess::Factor() {
  FillCovariances();
  const double log_determinant = Decompose();
  const double squares = Solve();
  double log_prior = 0;
  for (const double weight : weights_) {
    const double doublings = std::log2(weight / kFirstWeight);
    log_prior -= kWeightPenalty * doublings * doublings;
  }
  // The variance of the process is the one that makes the targets most likely.
  const auto count = static_cast<double>(count_);
  return log_prior - 0.5 * (count * std::log(squares / count + 1e-9) + log_determinant);
}

void GaussianProcess::FillCovariances() {
  const size_t width = jumps_.size();
  factor_.assign(count_ * count_, 0);
  for (size_t i = 0; i < count_; ++i) {
    const uint8_t* const a = points_.data() + i * width;
    for (size_t j = 0; j < i; ++j) {
      const uint8_t* const b = points_.data() + j * width;
      float product = 1;
      for (size_t k = 0; k < width; ++k) {
        product *= correlations_[k * kLevels + static_cast<size_t>(std::abs(a[k] - b[k]))];
      }
      factor_[i * count_ + j] = product;
    }
    factor_[i * count_ + i] = 1 + kProcessNoise;
  }
}

// Column by column, so that the inner loop is over neighbours in memory.
double GaussianProcess::Decompose() {
  column_.resize(count_);
  double log_determinant = 0;
  for (size_t k = 0; k < count_; ++k) {
    const float pivot = std::max(kLeastPivot, factor_[k * count_ + k]);
    log_determinant += std::log(pivot);
    const float root = std::sqrt(pivot);
    factor_[k * count_ + k] = root;
    for (size_t i = k + 1; i < count_; ++i) {
      column_[i] = factor_[i * count_ + k] / root;
      factor_[i * count_ + k] = column_[i];
    }
    for (size_t i = k + 1; i < count_; ++i) {
      float* const row = factor_.data() + i * count_;
      const float* const column = column_.data();
      const float times = column_[i];
      for (size_t j = k + 1; j <= i; ++j) row[j] -= times * column[j];
    }
  }
  return log_determinant;
}

double GaussianProcess::Solve() {
  alpha_ = values_;
  double squares = 0;
  for (size_t i = 0; i < count_; ++i) {
    for (size_t j = 0; j < i; ++j) alpha_[i] -= factor_[i * count_ + j] * alpha_[j];
    alpha_[i] /= factor_[i * count_ + i];
    squares += static_cast<double>(alpha_[i]) * alpha_[i];
  }
  for (size_t i = count_; i-- > 0;) {
    alpha_[i] /= factor_[i * count_ + i];
    for (size_t j = 0; j < i; ++j) alpha_[j] -= factor_[i * count_ + j] * alpha_[i];
  }
  return squares;
}

void GaussianProcess::Predict(const FeatureTable& table, std::span<const uint32_t> rows,
                              std::vector<ProcessPrediction>& predictions) const {
  assert(count_ > 0);
  predictions.resize(rows.size());
  for (size_t begin = 0; begin < rows.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, rows.size() - begin);
    PredictBlock(table, rows.subspan(begin, count), std::span(predictions).subspan(begin, count));
  }
}

void GaussianProcess::PredictBlock(const FeatureTable& table, std::span<const uint32_t> rows,
                                   std::span<ProcessPrediction> predictions) const {
  using Lanes = std::array<float, kBlock>;
  std::vector<Lanes> whitened(count_);
  Lanes mean = {};
  Lanes explained = {};
  const size_t width = jumps_.size();
  for (size_t i = 0; i < count_; ++i) {
    Lanes& lanes = whitened[i];
    const uint8_t* const point = points_.data() + i * width;
    for (size_t lane = 0; lane < kBlock; ++lane) {
      const uint8_t* const row = table.row(rows[std::min(lane, rows.size() - 1)]);
      float product = 1;
      for (size_t k = 0; k < width; ++k) {
        product *= correlations_[k * kLevels + static_cast<size_t>(std::abs(row[k] - point[k]))];
      }
      lanes[lane] = product;
      mean[lane] += product * alpha_[i];
    }
    const float* const factor = factor_.data() + i * count_;
    for (size_t j = 0; j < i; ++j) {
      const Lanes& earlier = whitened[j];
      for (size_t lane = 0; lane < kBlock; ++lane) lanes[lane] -= factor[j] * earlier[lane];
    }
    for (size_t lane = 0; lane < kBlock; ++lane) {
      lanes[lane] /= factor[i];
      explained[lane] += lanes[lane] * lanes[lane];
    }
  }
  const float variance = deviation_ * deviation_ * scale_;
  for (size_t lane = 0; lane < rows.size(); ++lane) {
    predictions[lane].mean = mean_ + deviation_ * mean[lane];
    predictions[lane].variance = variance * std::max(kLeastPivot, 1 - explained[lane]);
  }
}

}  // namespace attune
