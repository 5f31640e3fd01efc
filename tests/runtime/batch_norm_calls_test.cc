// attune_run_batch_norm() and its C++ interface.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/batch_norm.hpp"
#include "attune/ops/softmax.hpp"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;

class BatchNormCalls : public ::testing::Test {
 protected:
  void SetUp() override { world_.Set("ATTUNE_PLUGINS", std::nullopt); }

  static Runtime MakeRuntime() {
    Options options;
    options.device = "cpu";
    options.policy = ATTUNE_NEVER;
    return Runtime(options);
  }

  RuntimeWorld world_;
};

// Two channels of three values: (1, 2, 3) and (0, 4, 8).
struct Data {
  std::vector<float> x = {1, 0, 2, 4, 3, 8};  // NHWC.
  std::vector<float> gamma = {2, 1}, beta = {10, 0};
  std::vector<float> running_mean = {1, 1}, running_variance = {1, 1};
  std::vector<float> mean = {-7, -7}, inverse = {-7, -7};
  std::vector<float> y = std::vector<float>(6, -7);
};

BatchNormProblem ProblemOf(attune_batch_norm_pass pass) {
  BatchNormProblem norm;
  norm.batch = 3;
  norm.channels = 2;
  norm.layout = ATTUNE_NHWC;
  norm.pass = pass;
  norm.epsilon = 0;
  return norm;
}

TEST_F(BatchNormCalls, TrainingWritesEveryOutputAndBlendsRunningValues) {
  const Runtime runtime = MakeRuntime();
  BatchNormProblem norm = ProblemOf(ATTUNE_BATCH_NORM_TRAINING);
  norm.running = norm.saved = true;
  norm.momentum = 0.25;
  for (int round = 0; round < 2; ++round) {
    Data data;
    norm.Run(runtime, {.x = data.x.data(),
                       .gamma = data.gamma.data(),
                       .beta = data.beta.data(),
                       .running_mean = data.running_mean.data(),
                       .running_variance = data.running_variance.data(),
                       .mean = data.mean.data(),
                       .inverse_deviation = data.inverse.data(),
                       .y = data.y.data()});
    const double inverses[] = {1 / std::sqrt(2.0 / 3), 1 / std::sqrt(32.0 / 3)};
    const double means[] = {2, 4};
    const double variances[] = {1, 16};  // Unbiased.
    for (size_t i = 0; i < 6; ++i) {
      const size_t c = i % 2;
      const double normal = (double{data.x[i]} - means[c]) * inverses[c];
      EXPECT_NEAR(double{data.y[i]}, double{data.gamma[c]} * normal + double{data.beta[c]}, 1e-5);
    }
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_NEAR(double{data.mean[c]}, means[c], 1e-6);
      EXPECT_NEAR(double{data.inverse[c]}, inverses[c], 1e-6);
      EXPECT_NEAR(double{data.running_mean[c]}, 0.75 + 0.25 * means[c], 1e-6);
      EXPECT_NEAR(double{data.running_variance[c]}, 0.75 + 0.25 * variances[c], 1e-5);
    }
  }
}

TEST_F(BatchNormCalls, InferenceAddsAResidualAndCutsOff) {
  const Runtime runtime = MakeRuntime();
  BatchNormProblem norm = ProblemOf(ATTUNE_BATCH_NORM_INFERENCE);
  norm.affine = false;
  norm.fusion = ATTUNE_BATCH_NORM_ADD_RELU;
  Data data;
  std::vector<float> variance = {4, 16}, residual = {0, 0, 1, 1, -9, 9};
  data.mean = {1, 4};
  norm.Run(runtime, {.x = data.x.data(),
                     .residual = residual.data(),
                     .mean = data.mean.data(),
                     .variance = variance.data(),
                     .y = data.y.data()});
  EXPECT_THAT(data.y, testing::ElementsAre(0, 0, 1.5, 1, 0, 10));
}

TEST_F(BatchNormCalls, BackwardOfASumIsZero) {
  const Runtime runtime = MakeRuntime();
  BatchNormProblem norm = ProblemOf(ATTUNE_BATCH_NORM_BACKWARD);
  Data data;
  std::vector<float> dy(6, 1), dgamma(2, -7), dbeta(2, -7), dx(6, -7);
  norm.Run(runtime, {.x = data.x.data(),
                     .dy = dy.data(),
                     .gamma = data.gamma.data(),
                     .dgamma = dgamma.data(),
                     .dbeta = dbeta.data(),
                     .dx = dx.data()});
  for (const float value : dx) EXPECT_NEAR(double{value}, 0, 1e-5);
  EXPECT_THAT(dbeta, testing::ElementsAre(3, 3));
  for (const float value : dgamma) EXPECT_NEAR(double{value}, 0, 1e-5);
}

TEST_F(BatchNormCalls, AMissingOperandIsNamed) {
  const Runtime runtime = MakeRuntime();
  const BatchNormProblem norm = ProblemOf(ATTUNE_BATCH_NORM_INFERENCE);
  Data data;
  try {
    norm.Run(runtime, {.x = data.x.data(), .y = data.y.data()});
    FAIL() << "A batch norm ran without gamma.";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("needs 6 operands (x, gamma, beta, mean, variance, y)"));
  }
}

TEST_F(BatchNormCalls, AMisalignedOperandIsNamed) {
  const Runtime runtime = MakeRuntime();
  // Large enough for stores that need aligned addresses.
  BatchNormProblem norm = ProblemOf(ATTUNE_BATCH_NORM_INFERENCE);
  norm.batch = 1;
  norm.height = norm.width = 1024;
  norm.affine = false;
  Data data;
  std::vector<float> variance = {1, 1}, x(size_t{2} << 20, 1), y((size_t{2} << 20) + 1, -7);
  try {
    norm.Run(runtime, {.x = x.data(),
                       .mean = data.mean.data(),
                       .variance = variance.data(),
                       .y = reinterpret_cast<char*>(y.data()) + 2});
    FAIL() << "A batch norm wrote to an address that is not a multiple of 4.";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("operand y starts at"));
    EXPECT_THAT(error.what(), HasSubstr("not a multiple of 4 bytes"));
  }
  EXPECT_EQ(y, std::vector<float>(y.size(), -7));
}

TEST_F(BatchNormCalls, SoftmaxHasAClass) {
  const Runtime runtime = MakeRuntime();
  SoftmaxProblem softmax;
  softmax.length = 2;
  softmax.scale = 2;
  const std::vector<float> x = {0, 1};
  std::vector<float> y(2, -7);
  softmax.Run(runtime, {.x = x.data(), .y = y.data()});
  EXPECT_NEAR(double{y[0]}, 1 / (1 + std::exp(2.0)), 1e-6);
}

}  // namespace
}  // namespace attune
