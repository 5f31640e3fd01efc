// host.onednn-batch_norm against the reference: the choices of every form.
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/batch_norm/batch_norm.h"
#include "backends/onednn/choice_test.h"

namespace attune::onednn {
namespace {

using ::testing::HasSubstr;

constexpr BatchNormPass kPasses[] = {BatchNormPass::kTraining, BatchNormPass::kInference,
                                     BatchNormPass::kBackward};

constexpr BatchNormLayout kLayouts[] = {BatchNormLayout::kNchw, BatchNormLayout::kNhwc,
                                        BatchNormLayout::kNcdhw, BatchNormLayout::kNdhwc};

// 12 to 40 channels, so that every kind of channel of the reference occurs: a large mean, a
// constant, and a tiny variance among them. 12 fills no block.
BatchNorm SmallNorm(BatchNormLayout layout, int64_t channels) {
  BatchNorm norm;
  norm.batch = 3;
  norm.channels = channels;
  norm.depth = HasDepth(layout) ? 2 : 1;
  norm.height = 5;
  norm.width = 8;
  norm.layout = layout;
  return norm;
}

class OneDnnBatchNorm : public ChoiceTest {
 protected:
  OneDnnBatchNorm() : ChoiceTest("host.onednn-batch_norm") {}

  // oneDNN sums f32 one after the other.
  void ExpectRight(const BatchNorm& norm) {
    if (norm.pass == BatchNormPass::kInference) {
      ExpectAllRight(norm);
    } else {
      EXPECT_GT(CountRight(norm), 0) << Text(Problem(norm));
    }
  }

  // Tests each pass and type that the library takes. All operands exist.
  void ExpectAllPassesRight(BatchNorm norm) {
    for (const DataType type : {DataType::kF32, DataType::kBf16, DataType::kF16}) {
      norm.type = type;
      if (type != DataType::kF32 && !solver_->IsApplicable(norm, target_).ok()) continue;
      for (const BatchNormPass pass : kPasses) {
        norm.pass = pass;
        norm.running = pass == BatchNormPass::kTraining;
        norm.saved = pass != BatchNormPass::kInference;
        ExpectRight(norm);
      }
    }
  }
};

TEST_F(OneDnnBatchNorm, EveryPassAndLayoutIsRight) {
  for (const BatchNormLayout layout : kLayouts) {
    for (const int64_t channels : {12, 16, 40}) ExpectAllPassesRight(SmallNorm(layout, channels));
  }
}

// The error of a serial sum is at most its length times the unit round-off; attune tolerates 8
// units. No choice of training may be right here.
TEST_F(OneDnnBatchNorm, LargerImagesAreInaccurateAtWorst) {
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    for (const DataType type : {DataType::kF32, DataType::kBf16}) {
      for (const BatchNormPass pass : kPasses) {
        BatchNorm norm = SmallNorm(layout, 32);
        norm.batch = 8;
        norm.height = norm.width = 28;
        norm.type = type;
        norm.pass = pass;
        norm.saved = pass != BatchNormPass::kInference;
        CountRight(norm, static_cast<double>(ShapeOf(norm).count()) / 8);
      }
    }
  }
}

TEST_F(OneDnnBatchNorm, TwoThreadsAreRight) {
  threads_ = 2;
  ExpectAllPassesRight(SmallNorm(BatchNormLayout::kNhwc, 16));
}

TEST_F(OneDnnBatchNorm, ReluIsRight) {
  for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
    for (const int64_t channels : {12, 16}) {
      BatchNorm norm = SmallNorm(layout, channels);
      norm.fusion = BatchNormFusion::kRelu;
      ExpectAllPassesRight(norm);
    }
  }
}

TEST_F(OneDnnBatchNorm, GradientOfTheResidualIsTheMaskedOne) {
  for (const DataType type : {DataType::kF32, DataType::kBf16}) {
    for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
      BatchNorm norm = SmallNorm(layout, 16);
      norm.pass = BatchNormPass::kBackward;
      norm.fusion = BatchNormFusion::kAddRelu;
      norm.saved = true;
      norm.type = type;
      ExpectRight(norm);
    }
  }
}

TEST_F(OneDnnBatchNorm, MissingParametersAndStatisticsAreRight) {
  for (const int64_t channels : {12, 16}) {
    for (const BatchNormPass pass : kPasses) {
      for (const bool affine : {false, true}) {
        BatchNorm norm = SmallNorm(BatchNormLayout::kNhwc, channels);
        norm.pass = pass;
        norm.affine = affine;
        ExpectRight(norm);
        norm.fusion = BatchNormFusion::kRelu;
        ExpectRight(norm);
      }
    }
  }
}

TEST_F(OneDnnBatchNorm, AMeanForEachElementIsRight) {
  for (const BatchNormLayout layout : kLayouts) {
    BatchNorm norm = SmallNorm(layout, 4);
    norm.mode = BatchNormMode::kPerActivation;
    norm.batch = 8;
    norm.height = norm.width = 2;
    ExpectAllPassesRight(norm);
  }
}

// Two values of -1 and 1 in each channel, with variance 1.
struct SmallTraining {
  SmallTraining() {
    norm.batch = 2;
    norm.channels = 16;
    norm.affine = false;
    norm.running = norm.saved = true;
    for (size_t i = 0; i < x.size(); ++i) x[i] = i < 16 ? -1.0f : 1.0f;
  }

  Status Run(Executable& executable, double epsilon, double momentum) {
    workspace.resize(executable.workspace_bytes());
    const BufferView operands[] = {
        {x.data(), 0},    {running_mean.data(), 0}, {running_variance.data(), 0},
        {mean.data(), 0}, {inverse.data(), 0},      {y.data(), 0}};
    Arguments arguments;
    arguments.operands = operands;
    arguments.workspace = {workspace.data(), 0};
    arguments.alpha = epsilon;
    arguments.beta = momentum;
    return executable.Run(arguments);
  }

  BatchNorm norm;
  std::vector<float> x = std::vector<float>(32);
  std::vector<float> y = std::vector<float>(32);
  std::vector<float> mean = std::vector<float>(16);
  std::vector<float> inverse = std::vector<float>(16);
  std::vector<float> running_mean = std::vector<float>(16, 8.0f);
  std::vector<float> running_variance = std::vector<float>(16, 4.0f);
  std::vector<std::byte> workspace;
};

// The primitive of training has a fixed epsilon. More values than an executable keeps primitives.
TEST_F(OneDnnBatchNorm, TrainingTakesTheEpsilonOfEachCall) {
  SmallTraining training;
  const auto space = solver_->Space(training.norm, target_);
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  for (uint64_t i = 0; i < space->size(); ++i) {
    const auto executable = solver_->Load({}, training.norm, space->At(i), *device_);
    ASSERT_TRUE(executable.ok()) << executable.status().ToString();
    for (const double epsilon : {0.5, 1e-5, 1.0, 3.0, 0.5, 8.0, 15.0, 1.0}) {
      ASSERT_TRUE(training.Run(**executable, epsilon, 0.1).ok());

      const double right = 1 / std::sqrt(1 + epsilon);
      EXPECT_NEAR(training.y.back(), right, 1e-6) << Text(space->At(i)) << " " << epsilon;
      EXPECT_NEAR(training.inverse.back(), right, 1e-6) << Text(space->At(i)) << " " << epsilon;
    }
  }
}

TEST_F(OneDnnBatchNorm, TrainingTakesTheMomentumOfEachCall) {
  SmallTraining training;
  const auto space = solver_->Space(training.norm, target_);
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  const auto executable = solver_->Load({}, training.norm, space->At(0), *device_);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();

  ASSERT_TRUE(training.Run(**executable, 1e-5, 0.25).ok());

  EXPECT_FLOAT_EQ(training.running_mean.front(), 6);        // 0.75 * 8
  EXPECT_FLOAT_EQ(training.running_variance.front(), 3.5);  // 0.75 * 4 + 0.25 * 2
}

TEST_F(OneDnnBatchNorm, ResidualsAreRefusedInForwardPasses) {
  BatchNorm norm = SmallNorm(BatchNormLayout::kNhwc, 16);
  for (const BatchNormPass pass : {BatchNormPass::kTraining, BatchNormPass::kInference}) {
    for (const BatchNormFusion fusion : {BatchNormFusion::kAdd, BatchNormFusion::kAddRelu}) {
      norm.pass = pass;
      norm.fusion = fusion;

      const Status refused = solver_->IsApplicable(norm, target_);

      EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
      EXPECT_THAT(refused.message(), HasSubstr("residual"));
    }
  }
}

TEST_F(OneDnnBatchNorm, MorePixelsThanTheLibraryCountsAreRefusedUnasked) {
  BatchNorm norm;
  norm.height = 1 << 20;
  norm.width = 1 << 12;

  const Status refused = solver_->IsApplicable(norm, target_);

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("4294967296"));
}

TEST_F(OneDnnBatchNorm, HugeTensorsAreAnsweredAtOnce) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  for (const BatchNormPass pass : kPasses) {
    for (const BatchNormLayout layout : {BatchNormLayout::kNchw, BatchNormLayout::kNhwc}) {
      BatchNorm many_images = SmallNorm(layout, 500);
      many_images.batch = kMost;
      many_images.height = many_images.width = 1;
      BatchNorm many_channels = SmallNorm(layout, kMost);
      many_channels.batch = 500;
      many_channels.height = many_channels.width = 1;
      BatchNorm large_image = SmallNorm(layout, 16);
      large_image.batch = 16;
      large_image.height = 1 << 15;
      large_image.width = (1 << 16) - 1;
      for (BatchNorm norm : {many_images, many_channels, large_image}) {
        norm.pass = pass;
        ASSERT_TRUE(Validate(norm).ok());

        const Status status = solver_->IsApplicable(norm, target_);

        EXPECT_TRUE(status.ok()) << status.ToString();
        EXPECT_TRUE(solver_->Space(norm, target_).ok());
      }
    }
  }
}

TEST_F(OneDnnBatchNorm, BlockedLayoutsAreChoicesOfEveryProblem) {
  for (const BatchNormLayout layout : kLayouts) {
    const auto space = solver_->Space(SmallNorm(layout, 12), target_);
    ASSERT_TRUE(space.ok()) << space.status().ToString();
    bool is_found = false;

    for (uint64_t i = 0; i < space->size(); ++i) {
      is_found |= StringAt(space->At(i), "layout") == "blocked16";
    }

    EXPECT_TRUE(is_found);
  }
}

TEST_F(OneDnnBatchNorm, DefaultIsTheFirstConfigOfTheSpace) {
  for (const BatchNormLayout layout : kLayouts) {
    for (const BatchNormPass pass : kPasses) {
      BatchNorm norm = SmallNorm(layout, 16);
      norm.pass = pass;
      const auto space = solver_->Space(norm, target_);
      ASSERT_TRUE(space.ok()) << space.status().ToString();

      const auto config = solver_->DefaultConfig(norm, target_);

      ASSERT_TRUE(config.ok()) << config.status().ToString();
      EXPECT_EQ(*config, space->At(0));
      EXPECT_EQ(StringAt(*config, "layout"), "plain");
    }
  }
}

TEST_F(OneDnnBatchNorm, UnknownImplementationFailsToLoadByName) {
  const BatchNorm norm = SmallNorm(BatchNormLayout::kNhwc, 16);
  Config config = solver_->Space(norm, target_)->At(0);
  config["impl"] = std::string("bnorm_jit:imagined");

  const auto loaded = solver_->Load({}, norm, config, *device_);

  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.status().message(), HasSubstr("bnorm_jit:imagined"));
}

}  // namespace
}  // namespace attune::onednn
