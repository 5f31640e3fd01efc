// Duties of all regressors, and extras of each.
#include "attune/model/regressor.h"

#include <cmath>
#include <limits>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/model/boosted_regressor.h"
#include "attune/model/kernel_regressor.h"
#include "attune/model/nearest_regressor.h"
#include "attune/model/sample_times.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

std::vector<std::unique_ptr<Regressor>> AllRegressors() {
  std::vector<std::unique_ptr<Regressor>> all;
  all.push_back(*RooflineRegressor::Make(SampleFeatures(), {}));
  all.push_back(*NearestRegressor::Make(SampleFeatures(), {}));
  all.push_back(std::make_unique<KernelRegressor>(SampleFeatures()));
  all.push_back(std::make_unique<BoostedRegressor>(SampleFeatures(), BoostingTarget::kTime,
                                                   BoostingSettings{}, 2));
  all.push_back(std::make_unique<BoostedRegressor>(SampleFeatures(), BoostingTarget::kResidual,
                                                   BoostingSettings{}, 1));
  return all;
}

double MeanLogError(const Regressor& model, const std::vector<Sample>& samples) {
  double sum = 0;
  for (const Sample& sample : samples) {
    sum += std::abs(std::log(PredictOne(model, sample.row) / sample.time_ms));
  }
  return sum / static_cast<double>(samples.size());
}

// Expects exactly the predictions of each row by itself.
void ExpectEachIsAsAlone(const Regressor& model, FeatureRow row,
                         const std::vector<std::string_view>& algorithms) {
  std::vector<double> each(algorithms.size());
  model.PredictEach(row, algorithms, each);
  for (size_t i = 0; i < algorithms.size(); ++i) {
    row.algorithm = algorithms[i];
    EXPECT_EQ(each[i], PredictOne(model, row)) << model.name() << " " << algorithms[i];
  }
}

TEST(Regressor, AskedAboutAllAlgorithmsAtOnceEachIsAsAlone) {
  std::vector<Sample> learnt = SampleTimes(90, 0.1, 1);  // Enough for trees of each algorithm.
  const std::vector<Sample> unseen = SampleTimes(5, 0.1, 2);
  const std::vector<std::string_view> algorithms = {"b", "never seen", "a", "a", "b"};
  for (const bool knows_kernels : {true, false}) {
    for (Sample& sample : learnt) {
      if (knows_kernels) break;
      sample.row.kernels.clear();
      sample.kernel_times_ms.clear();
    }
    for (const auto& model : AllRegressors()) {
      ASSERT_TRUE(model->Fit(learnt).ok()) << model->name();
      for (const Sample& sample : unseen) ExpectEachIsAsAlone(*model, sample.row, algorithms);
    }
  }
}

TEST(Regressor, AllPredictTimesOfUnseenRowsAndRefuseBadSamples) {
  const std::vector<Sample> learnt = SampleTimes(120, 0.02, 1);
  const std::vector<Sample> unseen = SampleTimes(40, 0.02, 2);
  for (const auto& model : AllRegressors()) {
    ASSERT_TRUE(model->Fit(learnt).ok()) << model->name();
    EXPECT_LT(MeanLogError(*model, unseen), model->name() == "roofline" ? 2.0 : 0.4)
        << model->name();
    FeatureRow strange = unseen[0].row;
    strange.algorithm = "never seen";
    for (KernelRow& kernel : strange.kernels) kernel.signature = "never seen";
    EXPECT_GT(PredictOne(*model, strange), 0) << model->name();

    std::vector<Sample> bad = learnt;
    bad[3].time_ms = 0;
    EXPECT_THAT(model->Fit(bad).message(), HasSubstr("Sample 4 of 240")) << model->name();
    bad = learnt;
    bad[0].row.values[1] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(model->Fit(bad).ok()) << model->name();
    bad = learnt;
    bad[0].row.kernels[0].signature = "two\nlines";
    EXPECT_FALSE(model->Fit(bad).ok()) << model->name();
    bad = learnt;
    bad[0].kernel_times_ms.clear();
    bad[0].kernel_times_ms.resize(5, 1);
    EXPECT_FALSE(model->Fit(bad).ok()) << model->name();
  }
}

TEST(Regressor, AllForgetWhatTheyKnewWhenFittedAgain) {
  const std::vector<Sample> first = SampleTimes(60, 0.02, 1);
  const std::vector<Sample> second = SampleTimes(60, 0.02, 2);
  for (const auto& model : AllRegressors()) {
    const std::unique_ptr<Regressor> fresh = model->Fresh();
    ASSERT_TRUE(model->Fit(first).ok() && model->Fit(second).ok() && fresh->Fit(second).ok());
    std::string twice, once;
    model->AppendText(twice);
    fresh->AppendText(once);
    EXPECT_EQ(twice, once) << model->name();
  }
}

TEST(KernelRegressor, CoefficientsOfKernelsAreRecovered) {
  KernelRegressor model(SampleFeatures());
  ASSERT_TRUE(model.Fit(SampleTimes(50, 0, 3)).ok());

  for (const Sample& sample : SampleTimes(20, 0, 4)) {
    EXPECT_NEAR(PredictOne(model, sample.row) / sample.time_ms, 1, 1e-9);
  }
}

TEST(KernelRegressor, APartOfTheSamplesIsLearntAsACopyOfIt) {
  const std::vector<Sample> samples = SampleTimes(60, 0.02, 3);
  std::vector<Sample> copied;
  std::vector<const Sample*> part;
  for (size_t i = 0; i < samples.size(); i += 2) {
    copied.push_back(samples[i]);
    part.push_back(&samples[i]);
  }
  KernelRegressor of_copies(SampleFeatures());
  KernelRegressor of_part(SampleFeatures());

  ASSERT_TRUE(of_copies.Fit(copied).ok() && of_part.Fit(part).ok());

  std::string texts[2];
  of_copies.AppendText(texts[0]);
  of_part.AppendText(texts[1]);
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_FALSE(of_part.Fit(std::vector<const Sample*>()).ok());
}

TEST(KernelRegressor, TheSumOfARowHasItsTimeAndItsLongestKernel) {
  const std::vector<Sample> samples = SampleTimes(60, 0.02, 3);
  KernelRegressor model(SampleFeatures());
  ASSERT_TRUE(model.Fit(samples).ok());
  for (const Sample& sample : samples) {
    const FeatureRow& row = sample.row;

    const KernelSum sum = model.PredictSum(row);

    EXPECT_EQ(sum.time_ms, PredictOne(model, row));
    const double main_ms = model.PredictKernel(row.algorithm, row.kernels[sum.main]);
    for (const KernelRow& kernel : row.kernels) {
      EXPECT_LE(model.PredictKernel(row.algorithm, kernel), main_ms);
    }
    EXPECT_DOUBLE_EQ(sum.main_share, main_ms / sum.time_ms);
  }
}

TEST(KernelRegressor, KernelsOfWhatWasTimedAsAWholeShareItsTime) {
  std::vector<Sample> samples = SampleTimes(100, 0, 3);
  // No kernel was timed, and one of them never runs alone.
  for (Sample& sample : samples) sample.kernel_times_ms.clear();
  KernelRegressor model(SampleFeatures());
  ASSERT_TRUE(model.Fit(samples).ok());

  for (const Sample& sample : SampleTimes(20, 0, 4)) {
    EXPECT_NEAR(PredictOne(model, sample.row) / sample.time_ms, 1, 0.05);
  }
  // From the whole alone times are predicted worse, because its launch does not name the kernel.
  for (Sample& sample : samples) sample.row.kernels.clear();
  KernelRegressor of_wholes(SampleFeatures());
  ASSERT_TRUE(of_wholes.Fit(samples).ok());
  EXPECT_FALSE(of_wholes.knows_kernels());
}

TEST(KernelRegressor, AFewBusyMomentsMoveItLittle) {
  std::vector<Sample> samples = SampleTimes(60, 0.01, 5);
  for (size_t i = 0; i < samples.size(); i += 12) {
    samples[i].time_ms *= 4;
    for (double& time_ms : samples[i].kernel_times_ms) time_ms *= 4;
  }
  KernelRegressor model(SampleFeatures());
  ASSERT_TRUE(model.Fit(samples).ok());

  EXPECT_LT(MeanLogError(model, SampleTimes(30, 0, 6)), 0.03);
}

TEST(Regressor, KernelsWithoutTimesOfTheirOwnAreNoTrouble) {
  std::vector<Sample> samples = SampleTimes(60, 0.02, 3);
  for (Sample& sample : samples) sample.kernel_times_ms.clear();
  for (const auto& model : AllRegressors()) {
    ASSERT_TRUE(model->Fit(samples).ok()) << model->name();
    EXPECT_GT(PredictOne(*model, samples[0].row), 0) << model->name();
  }
}

TEST(KernelRegressor, AKernelNeverSeenTakesWhatItsFamilyTakes) {
  KernelRegressor model(SampleFeatures());
  ASSERT_TRUE(model.Fit(SampleTimes(50, 0, 7)).ok());
  const KernelRow known{"gemm_64x64 a", {1, 1000, 20, 64}};
  KernelRow other = known;
  other.signature = "gemm_128x32 a";

  EXPECT_TRUE(model.knows_kernels());
  EXPECT_NEAR(model.PredictKernel("a", other), model.PredictKernel("a", known), 1e-9);
  EXPECT_EQ(FamilyOf("sm80_tile128x64"), FamilyOf("sm90_tile8x256"));
}

TEST(RooflineRegressor, NeedsNoSamplesWhereTheDeviceIsDescribed) {
  const auto model = *RooflineRegressor::Make(SampleFeatures(), {100, 10, 0.5});

  EXPECT_DOUBLE_EQ(PredictOne(*model, {"a", {1, 1000, 10, 1}, {}}), 10.5);
  EXPECT_DOUBLE_EQ(PredictOne(*model, {"a", {1, 100, 1000, 1}, {}}), 100.5);
  EXPECT_FALSE(RooflineRegressor::Make({"x", {"one"}, {}, 1, 0}, {}).ok());
}

TEST(NearestRegressor, ARowThatWasMeasuredHasItsTime) {
  const std::vector<Sample> samples = SampleTimes(40, 0.05, 8);
  const auto model = *NearestRegressor::Make(SampleFeatures(), {});
  ASSERT_TRUE(model->Fit(samples).ok());

  for (const Sample& sample : samples) {
    EXPECT_NEAR(PredictOne(*model, sample.row) / sample.time_ms, 1, 0.05);
  }
}

// No sum of the features has these times: trees on the residuals are better than the sum.
TEST(BoostedRegressor, CorrectsWhatTheSumOfFeaturesCannotSay) {
  const auto with_steps = [](std::vector<Sample> samples) {
    for (Sample& sample : samples) {
      const double factor = sample.row.values[3] > 6 ? 3 : 1;
      sample.time_ms *= factor;
      for (double& time_ms : sample.kernel_times_ms) time_ms *= factor;
    }
    return samples;
  };
  const std::vector<Sample> learnt = with_steps(SampleTimes(200, 0, 9));
  const std::vector<Sample> unseen = with_steps(SampleTimes(60, 0, 10));
  KernelRegressor sum(SampleFeatures());
  BoostedRegressor trees(SampleFeatures(), BoostingTarget::kResidual, {}, 1);
  ASSERT_TRUE(sum.Fit(learnt).ok() && trees.Fit(learnt).ok());

  EXPECT_LT(MeanLogError(trees, unseen), MeanLogError(sum, unseen) / 2);
}

}  // namespace
}  // namespace attune
