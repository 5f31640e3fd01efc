// Gaussian process regression over points of bytes. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attune/base/random.h"
#include "attune/search/forest.h"

namespace attune {

struct ProcessPrediction {
  float mean = 0;
  float variance = 0;
};

// The covariance of two points is the product over their coordinates of exp(-weight * distance). A
// weight is the importance of its coordinate. Fit() learns the weights by a few random steps uphill
// the marginal likelihood, from the end of the last Fit(). Its time is proportional to the cube of
// the number of points, the time of a prediction to the square. Not thread-safe.
class GaussianProcess {
 public:
  // `jumps` has the distance, from 0 to 1, of neighbouring values of each coordinate. The distance
  // grows to 1 linearly with the difference of the bytes.
  explicit GaussianProcess(std::vector<float> jumps);

  // REQUIRES: at least one row, as many targets; each row has the coordinates in its first bytes.
  void Fit(const FeatureTable& table, std::span<const uint32_t> rows,
           std::span<const float> targets, Random& random);
  // One prediction for each of `rows`. REQUIRES: Fit() was called.
  void Predict(const FeatureTable& table, std::span<const uint32_t> rows,
               std::vector<ProcessPrediction>& predictions) const;

  double weight(size_t coordinate) const { return weights_[coordinate]; }

 private:
  static constexpr size_t kLevels = 256;
  // Points that are predicted together: loops over them are vector instructions.
  static constexpr size_t kBlock = 16;

  void Standardise(std::span<const float> targets);
  void SetWeight(size_t coordinate, double weight);
  // Factors the covariances of the points; the logarithm of the posterior of the weights.
  double Factor();
  void FillCovariances();
  // Replaces the covariances by their Cholesky factor; the logarithm of their determinant.
  double Decompose();
  // Solves for alpha_; the squared length of the whitened targets.
  double Solve();
  void PredictBlock(const FeatureTable& table, std::span<const uint32_t> rows,
                    std::span<ProcessPrediction> predictions) const;

  const std::vector<float> jumps_;
  std::vector<double> weights_;
  std::vector<float> correlations_;  // By coordinate and difference of the bytes.
  size_t count_ = 0;                 // Number of points.
  std::vector<uint8_t> points_;      // Row by row.
  std::vector<float> values_;        // Standardised targets.
  float mean_ = 0;
  float deviation_ = 1;        // Standard deviation of the targets.
  float scale_ = 1;            // Variance of the process, estimated from the targets.
  std::vector<float> factor_;  // Lower triangle, row by row.
  std::vector<float> alpha_;
  std::vector<float> column_;  // Working memory.
};

}  // namespace attune
