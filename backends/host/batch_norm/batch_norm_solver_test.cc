// host.batch_norm against the reference: every config of every form, at sizes
// around the ends of loops; and runs on inputs that the reference does not
// have.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/verify/special_values.h"
#include "attune/verify/verifier.h"
#include "backends/host/batch_norm/batch_norm_plan.h"
#include "backends/host/host_backend.h"

namespace attune::host {
namespace {

HostBackendOptions WithoutPlugins() {
  HostBackendOptions options;
  options.plugins.clear();
  return options;
}

constexpr BatchNormPass kPasses[] = {BatchNormPass::kTraining, BatchNormPass::kInference,
                                     BatchNormPass::kBackward};
constexpr BatchNormLayout kLayouts[] = {BatchNormLayout::kNchw, BatchNormLayout::kNhwc,
                                        BatchNormLayout::kNcdhw, BatchNormLayout::kNdhwc};
constexpr BatchNormFusion kFusions[] = {BatchNormFusion::kNone, BatchNormFusion::kRelu,
                                        BatchNormFusion::kAdd, BatchNormFusion::kAddRelu};
constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBf16};

// Sets optional properties by the bits of `variant`, without those that a pass
// does not have.
BatchNorm Variant(BatchNorm norm, uint64_t variant) {
  const bool is_training = norm.pass == BatchNormPass::kTraining;
  const bool is_backward = norm.pass == BatchNormPass::kBackward;
  norm.affine = (variant & 1) != 0;
  norm.saved = (variant & 2) != 0 && (is_training || is_backward);
  norm.running = (variant & 4) != 0 && is_training;
  norm.fusion = kFusions[variant / 8 % 4];
  if (is_backward && norm.fusion == BatchNormFusion::kAdd) norm.fusion = BatchNormFusion::kNone;
  return norm;
}

class HostBatchNormTest : public testing::Test {
 protected:
  HostBatchNormTest() : backend_(MakeHostBackend(WithoutPlugins())) {
    device_ = *backend_->Open("cpu");
    for (const auto& solver : backend_->solvers()) {
      if (solver->id().name == "host.batch_norm") solver_ = solver.get();
    }
  }

  // Expects every config of `norm` to be right.
  void Check(const BatchNorm& norm) {
    const Problem problem = norm;
    ASSERT_TRUE(Validate(problem).ok()) << Text(problem);
    const auto data = ProblemData::Create(problem, 5);
    ASSERT_TRUE(data.ok()) << Text(problem) << ": " << data.error().message();
    const auto space = solver_->Space(problem, device_->target());
    ASSERT_TRUE(space.ok()) << space.error().message();
    for (uint64_t i = 0; i < space->size(); ++i) {
      const std::string name =
          Text(problem) + " " + Text(Candidate{solver_->id(), space->At(i)}) + ": ";
      auto executable = solver_->Load({}, problem, space->At(i), *device_);
      ASSERT_TRUE(executable.ok()) << name;
      auto operands = BoundOperands::Create(*device_, problem, *data);
      ASSERT_TRUE(operands.ok()) << name;
      ASSERT_TRUE(operands->ReserveWorkspace((*executable)->workspace_bytes()).ok()) << name;
      const Verdict verdict = Verify(**executable, *device_, *operands, *data, problem);
      EXPECT_FALSE(verdict.failure.has_value()) << name << verdict.failure->message;
      const auto lost = CheckSpecialValues(**executable, *device_, *operands, *data, problem);
      EXPECT_FALSE(lost.has_value()) << name << lost->message;
    }
  }

  // Checks each type, each pass and, in turns, the variants.
  void CheckPasses(const BatchNorm& shape) {
    for (const BatchNormPass pass : kPasses) {
      for (const DataType type : kTypes) {
        BatchNorm norm = shape;
        norm.pass = pass;
        norm.type = type;
        norm = Variant(norm, variant_);
        variant_ += 5;  // Has no factor with the number of variants.
        if (Validate(norm).ok()) Check(norm);
      }
    }
  }

  // Runs each config on copies of `operands`, the last of which is the result.
  std::vector<std::vector<std::vector<float>>> RunEach(
      const BatchNorm& norm, const std::vector<std::vector<float>>& operands, double epsilon,
      double momentum) {
    const Problem problem = norm;
    const auto space = solver_->Space(problem, device_->target());
    std::vector<std::vector<std::vector<float>>> results;
    for (uint64_t i = 0; i < space->size(); ++i) {
      auto executable = solver_->Load({}, problem, space->At(i), *device_);
      std::vector<std::vector<float>> memory = operands;
      std::vector<BufferView> views;
      for (std::vector<float>& operand : memory) views.push_back({operand.data(), 0});
      std::vector<std::byte> workspace((*executable)->workspace_bytes());
      Arguments arguments;
      arguments.operands = views;
      arguments.workspace = {workspace.data(), 0};
      arguments.alpha = epsilon;
      arguments.beta = momentum;
      EXPECT_TRUE((*executable)->Run(arguments).ok());
      results.push_back(std::move(memory));
    }
    return results;
  }

  const std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Device> device_;
  const Solver* solver_ = nullptr;
  uint64_t variant_ = 0;
};

TEST_F(HostBatchNormTest, EveryCombinationOfClassesIsRight) {
  std::vector<BatchNorm> seen;
  for (const BatchNormLayout layout : kLayouts) {
    for (const BatchNormMode mode : {BatchNormMode::kSpatial, BatchNormMode::kPerActivation}) {
      for (const BatchNormPass pass : kPasses) {
        for (uint64_t variant = 0; variant < 32; ++variant) {
          BatchNorm norm{.pass = pass, .mode = mode, .batch = 4, .channels = 9};
          norm.layout = layout;
          norm.height = 2;
          norm.width = 3;
          norm = Variant(norm, variant);
          if (std::find(seen.begin(), seen.end(), norm) != seen.end()) continue;
          seen.push_back(norm);
          norm.type = kTypes[(variant + static_cast<uint64_t>(layout)) % 3];
          norm.deterministic = variant % 5 == 0;
          Check(norm);
        }
      }
    }
  }
}

TEST_F(HostBatchNormTest, RunsOfAnyLengthAreRight) {
  for (const int64_t width : {2, 15, 16, 17, 49, 63, 64, 65, 79, 80, 127, 196}) {
    BatchNorm norm{.batch = 3, .channels = 10, .width = width};
    norm.alignment_bytes = width % 2 == 1 ? 4 : 64;
    CheckPasses(norm);
  }
}

TEST_F(HostBatchNormTest, ColumnsOfAnyCountAreRight) {
  for (const int64_t channels : {1, 2, 3, 15, 16, 17, 33, 63, 64, 65, 130}) {
    BatchNorm norm{.batch = 2, .channels = channels, .height = 5, .width = channels % 7 + 1};
    norm.layout = BatchNormLayout::kNhwc;
    norm.alignment_bytes = channels % 2 == 1 ? 4 : 64;
    CheckPasses(norm);
  }
}

TEST_F(HostBatchNormTest, AnyNumberOfRowsIsRight) {
  for (const int64_t batch : {1, 2, 3, 4, 5, 7, 65}) {
    BatchNorm norm{.batch = batch, .channels = 17, .height = 2, .width = 2};
    for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
      norm.layout = layout;
      norm.mode = BatchNormMode::kSpatial;
      CheckPasses(norm);
      norm.mode = BatchNormMode::kPerActivation;
      CheckPasses(norm);
    }
  }
}

TEST_F(HostBatchNormTest, FewGroupsAreSplitOverThreads) {
  for (const int64_t batch : {1, 3, 8}) {
    BatchNorm norm{.batch = batch, .channels = 3, .height = 73, .width = 75};
    CheckPasses(norm);
    norm.layout = BatchNormLayout::kNhwc;
    CheckPasses(norm);
  }
}

TEST_F(HostBatchNormTest, ManyTilesAreMerged) {
  BatchNorm norm{.batch = 2, .channels = 2, .height = 150, .width = 151};
  CheckPasses(norm);
  norm = {.batch = 5, .channels = 300, .height = 6, .width = 6};
  CheckPasses(norm);
  norm.layout = BatchNormLayout::kNhwc;
  CheckPasses(norm);
}

TEST_F(HostBatchNormTest, StreamedStoresAreRight) {
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    BatchNorm norm{.batch = 2, .channels = 129, .height = 33, .width = 33};
    norm.layout = layout;
    norm.alignment_bytes = 4;
    norm.fusion = BatchNormFusion::kAddRelu;
    Check(norm);
    norm.pass = BatchNormPass::kBackward;
    Check(norm);
    norm.pass = BatchNormPass::kInference;
    norm.type = DataType::kF16;
    norm.batch = 4;
    Check(norm);
  }
}

TEST_F(HostBatchNormTest, SpacesOfLargeTensorsHaveEveryParameter) {
  const BatchNorm norm{.batch = 32, .channels = 256, .height = 7, .width = 7};
  const auto space = solver_->Space(Problem(norm), device_->target());
  ASSERT_TRUE(space.ok());
  std::vector<std::string> names;
  for (const Parameter& parameter : space->parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"threads", "split", "view", "adjacent", "tile",
                                             "stores", "unroll"}));
  EXPECT_EQ(space->At(0), *solver_->DefaultConfig(Problem(norm), device_->target()));
}

// Channels of 2000 values, the second of which is constant.
std::vector<float> TwoChannels(int64_t values, float constant) {
  Random random(7);
  std::vector<float> x;
  for (int64_t i = 0; i < 2 * values; ++i) {
    x.push_back(i < values ? static_cast<float>(random.Uniform()) + 1000 : constant);
  }
  return x;
}

TEST_F(HostBatchNormTest, AConstantChannelHasNoVarianceAtAll) {
  constexpr int64_t kValues = 20000;
  BatchNorm norm{.batch = 1, .channels = 2, .height = kValues};
  norm.affine = false;
  norm.saved = true;
  norm.running = true;
  const std::vector<float> x = TwoChannels(kValues, 0.1f);
  const std::vector<float> y(x.size());
  const auto results = RunEach(norm, {x, {5, 5}, {3, 3}, {0, 0}, {0, 0}, y}, 0, 0.5);
  for (const auto& operands : results) {
    EXPECT_EQ(operands[1][1], static_cast<float>(0.5 * 5 + 0.5 * 0.1f));
    EXPECT_EQ(operands[2][1], 1.5f);
    EXPECT_EQ(operands[3][1], 0.1f);
    EXPECT_EQ(operands[4][1], std::numeric_limits<float>::infinity());
    // 0 times infinity, as in PyTorch.
    EXPECT_TRUE(std::isnan(operands[5].back()));
    EXPECT_NEAR(operands[4][0], std::sqrt(12.0), 0.05);
    EXPECT_LT(std::abs(operands[5].front()), 1.8);
  }
}

TEST_F(HostBatchNormTest, AMomentumOfZeroKeepsRunningStatistics) {
  constexpr int64_t kValues = 64;
  BatchNorm norm{.batch = 1, .channels = 2, .height = kValues};
  norm.affine = false;
  norm.running = true;
  const std::vector<float> x = TwoChannels(kValues, 2);
  const auto results = RunEach(norm, {x, {5, 6}, {3, 4}, std::vector<float>(x.size())}, 1e-5, 0);
  for (const auto& operands : results) {
    EXPECT_EQ(operands[1], (std::vector<float>{5, 6}));
    EXPECT_EQ(operands[2], (std::vector<float>{3, 4}));
    EXPECT_EQ(operands[3].back(), 0);
  }
}

TEST_F(HostBatchNormTest, SubnormalNumbersAreNotFlushed) {
  constexpr int64_t kValues = 100;
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    BatchNorm norm{.batch = 1, .channels = 1, .height = kValues};
    norm.layout = layout;
    norm.affine = false;
    std::vector<float> x;
    for (int64_t i = 0; i < kValues; ++i) {
      x.push_back((i % 2 == 0 ? 8 : -8) * std::numeric_limits<float>::denorm_min());
    }
    const auto results = RunEach(norm, {x, std::vector<float>(x.size())}, 1.0, 0);
    for (const auto& operands : results) EXPECT_EQ(operands[1], x);
  }
}

TEST_F(HostBatchNormTest, AFirstValueFarFromTheOthersDoesNotHurt) {
  constexpr int64_t kValues = 5000;
  BatchNorm norm{.batch = 1, .channels = 1, .height = kValues};
  norm.affine = false;
  norm.saved = true;
  Random random(9);
  std::vector<float> x = {1e4f};
  double sum = x[0];
  for (int64_t i = 1; i < kValues; ++i) {
    x.push_back(static_cast<float>(random.Uniform()));
    sum += x.back();
  }
  const double mean = sum / kValues;
  double squares = 0;
  for (const float value : x) squares += (value - mean) * (value - mean);
  const double inverse = 1 / std::sqrt(squares / kValues);
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    norm.layout = layout;
    const auto results = RunEach(norm, {x, {0}, {0}, std::vector<float>(x.size())}, 0, 0);
    for (const auto& operands : results) {
      EXPECT_NEAR(operands[1][0], mean, 1e-6 * mean);
      EXPECT_NEAR(operands[2][0], inverse, 1e-6 * inverse);
    }
  }
}

// Mean and inverse deviation of `x`.
std::pair<double, double> MomentsOf(const std::vector<float>& x) {
  double sum = 0;
  for (const float value : x) sum += value;
  const double mean = sum / static_cast<double>(x.size());
  double squares = 0;
  for (const float value : x) squares += (value - mean) * (value - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(x.size()))};
}

TEST_F(HostBatchNormTest, PartsWithOtherMeansDoNotHurt) {
  constexpr int64_t kValues = 40000;
  BatchNorm norm{.batch = 1, .channels = 1, .height = kValues};
  norm.affine = false;
  norm.saved = true;
  Random random(11);
  // The first values, or the first half, have another mean than the rest.
  for (const int64_t far : {int64_t{16}, int64_t{600}, kValues / 2}) {
    std::vector<float> x;
    for (int64_t i = 0; i < kValues; ++i) {
      x.push_back(static_cast<float>(random.Uniform()) + (i < far ? 0 : 1e5f));
    }
    const auto [mean, inverse] = MomentsOf(x);
    for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
      norm.layout = layout;
      const auto results = RunEach(norm, {x, {0}, {0}, std::vector<float>(x.size())}, 0, 0);
      for (const auto& operands : results) {
        EXPECT_NEAR(operands[1][0], mean, 1e-6 * mean) << far;
        EXPECT_NEAR(operands[2][0], inverse, 5e-6 * inverse) << far;
      }
    }
  }
}

TEST_F(HostBatchNormTest, ALargeMeanKeepsASmallVariance) {
  constexpr int64_t kValues = 20000;
  BatchNorm norm{.batch = 1, .channels = 1, .height = kValues};
  norm.affine = false;
  norm.saved = true;
  Random random(13);
  std::vector<float> x;
  for (int64_t i = 0; i < kValues; ++i) {
    x.push_back(777777 + static_cast<float>(random.Uniform()));
  }
  const auto [mean, inverse] = MomentsOf(x);
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    norm.layout = layout;
    const auto results = RunEach(norm, {x, {0}, {0}, std::vector<float>(x.size())}, 0, 0);
    for (const auto& operands : results) {
      EXPECT_EQ(operands[1][0], static_cast<float>(mean));
      EXPECT_NEAR(operands[2][0], inverse, 2e-6 * inverse);
    }
  }
}

// As in PyTorch, where the variance overflows, too.
TEST_F(HostBatchNormTest, HugeValuesHaveAnInfiniteVarianceAndNoNan) {
  constexpr int64_t kValues = 6000;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  BatchNorm norm{.batch = 1, .channels = 2, .height = kValues};
  norm.affine = false;
  norm.saved = true;
  norm.running = true;
  Random random(17);
  std::vector<float> x;
  for (int64_t i = 0; i < 2 * kValues; ++i) {
    x.push_back((static_cast<float>(random.Uniform()) - 0.5f) * 4e30f);
  }
  const std::vector<float> y(x.size(), -7);
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    norm.layout = layout;
    norm.pass = BatchNormPass::kTraining;
    norm.running = norm.saved = true;
    for (const auto& operands : RunEach(norm, {x, {5, 5}, {3, 3}, {0, 0}, {0, 0}, y}, 1e-5, 0.5)) {
      EXPECT_EQ(operands[2], (std::vector<float>{kInfinity, kInfinity}));
      EXPECT_EQ(operands[4], (std::vector<float>{0, 0}));
      EXPECT_EQ(operands[5], std::vector<float>(y.size(), 0));
    }
    norm.pass = BatchNormPass::kBackward;
    norm.running = norm.saved = false;
    const std::vector<float> dy(x.size(), 1);
    for (const auto& operands : RunEach(norm, {x, dy, y}, 1e-5, 0)) {
      EXPECT_EQ(operands[2], std::vector<float>(y.size(), 0));
    }
  }
}

TEST(HostBatchNormTiling, LongRunsAddFewTermsInF32) {
  BatchNorm norm;
  norm.channels = 2;
  norm.height = norm.width = 1024;
  const batch_norm::View view = batch_norm::ViewOf(ShapeOf(norm), false);
  constexpr int64_t kLanes = 64;

  const batch_norm::Tiling tiling = batch_norm::TilingOf(view, 1024, 262144, kLanes);

  EXPECT_EQ(tiling.length, kLanes * batch_norm::kMostTerms);
  EXPECT_EQ(tiling.rows, 1);
}

}  // namespace
}  // namespace attune::host
