#include "extensions/models/seer/seer_model.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/models/seer/evaluation.h"
#include "extensions/models/seer/synthetic.h"

namespace attune::seer {
namespace {

// A part of the grid that still has all its values.
std::vector<Layer> SomeLayers(int algorithm, size_t every) {
  const std::vector<Layer> all = TrainingGrid(algorithm);
  std::vector<Layer> some;
  for (size_t i = 0; i < all.size(); i += every) some.push_back(all[i]);
  return some;
}

void ExpectNear(const std::vector<double>& found, std::span<const double> known,
                std::string_view what) {
  ASSERT_EQ(found.size(), known.size()) << what;
  for (size_t i = 0; i < known.size(); ++i) {
    EXPECT_NEAR(found[i] / known[i], 1, 1e-9) << what << " " << i;
  }
}

TEST(TrainingGrid, HasAsManyLayersAsWerePublished) {
  EXPECT_EQ(TrainingGrid(0).size(), 6u * 6 * 6 * 5 * 4);
  EXPECT_EQ(TrainingGrid(4).size(), 3072u);
  EXPECT_EQ(TrainingGrid(5).size(), 2304u);
  EXPECT_EQ(TrainingGrid(6).size(), 1872u);
  EXPECT_EQ(TrainingGrid(7).size(), 2200u);
}

TEST(VariantModel, CoefficientsAndClassTreesOfEveryVariantAreRecovered) {
  const KnownKernel known;
  for (const Rules rules : {Rules::kFixed, Rules::kAsPublished}) {
    for (const Variant& variant : Variants()) {
      const std::vector<Layer> layers = SomeLayers(variant.algorithm, 11);
      const auto model =
          VariantModel::Train(variant, MakeRecords(variant, known, layers, 0, 1), 1, rules);
      ASSERT_TRUE(model.ok()) << variant.name;

      ExpectNear(model->instruction_line(),
                 std::vector{known.instructions_slope, known.instructions_offset}, variant.name);
      ExpectNear(model->time_coefficients(KernelClass::kCompute), known.compute, variant.name);
      ExpectNear(model->time_coefficients(KernelClass::kDram), known.dram, variant.name);
      ExpectNear(model->time_coefficients(KernelClass::kUnderUtilised), known.under_utilised,
                 variant.name);
      const std::vector<Cart::Node>& nodes = model->class_tree().nodes();
      ASSERT_EQ(nodes.size(), 5u) << variant.name;
      // The tree splits on C first or on W, and then on the other one.
      EXPECT_LE(nodes[0].feature, 1u) << variant.name;
      for (const Layer& layer : TrainingGrid(variant.algorithm)) {
        if (variant.filter != 0 && layer.f != variant.filter) continue;
        ASSERT_EQ(model->Predict(layer).kernel_class, known.ClassAt(layer)) << variant.name;
      }
    }
  }
}

TEST(VariantModel, ATreeTrainedOnWhatATreeSaysIsTheSameTree) {
  const Variant& variant = *FindVariant("algo0_32x32");
  const std::vector<Layer> layers = SomeLayers(0, 7);
  std::vector<KernelRecord> records = MakeRecords(variant, {}, layers, 0, 1);
  const auto first = VariantModel::Train(variant, records, 1, Rules::kFixed);
  ASSERT_TRUE(first.ok());
  for (KernelRecord& x : records) {
    const KernelClass kernel_class = first->Predict(x.layer).kernel_class;
    x.fp_utilisation = kernel_class == KernelClass::kCompute ? 9 : 0;
    x.dram_utilisation = kernel_class == KernelClass::kDram ? 9 : 0;
  }

  const auto second = VariantModel::Train(variant, records, 1, Rules::kFixed);

  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->class_tree().nodes(), first->class_tree().nodes());
}

TEST(VariantModel, NoRecordsOfAClassIsAWarningAndNoRecordsAtAllAnError) {
  const Variant& variant = *FindVariant("algo0_32x32");
  std::vector<KernelRecord> records = MakeRecords(variant, {}, SomeLayers(0, 40), 0, 1);
  std::erase_if(records, [](const KernelRecord& x) { return ClassOf(x) == KernelClass::kDram; });

  const auto model = VariantModel::Train(variant, records, 1, Rules::kFixed);

  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->warnings().size(), 1u);
  EXPECT_THAT(model->time_coefficients(KernelClass::kDram), ::testing::ElementsAre(1, 1));
  EXPECT_EQ(VariantModel::Train(variant, {}, 1, Rules::kFixed).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST(FitTerms, OnlyThePublishedFitHasTimesBelowZero) {
  const std::vector<std::vector<double>> rows = {{1, 1}, {2, 1}, {3, 1}};
  const std::vector<double> times = {0.1, 2, 4};

  EXPECT_LT(FitTerms(rows, times, Rules::kAsPublished)[1], 0);
  EXPECT_GE(FitTerms(rows, times, Rules::kFixed)[1], 0);
}

TEST(TimeTerms, TheFormulasAreThoseOfTheWholeLaunch) {
  const LaunchCounts x = {3, 250, 100, 7, 2, 5};

  EXPECT_THAT(TimeTerms(KernelClass::kCompute, x), ::testing::ElementsAre(2100, 3));
  EXPECT_THAT(TimeTerms(KernelClass::kDram, x), ::testing::ElementsAre(250 * 7, 1));
  EXPECT_THAT(TimeTerms(KernelClass::kUnderUtilised, x),
              ::testing::ElementsAre(500, 2100, 1, 1250));
}

TEST(Polynomials, CoefficientsOfFftsAreRecoveredAndGrowWithTheBatchUnlessPublished) {
  for (const int algorithm : {4, 5}) {
    std::vector<Layer> layers = TrainingGrid(algorithm, {16, 128});
    std::vector<TimedLayer> samples;
    for (const Layer& x : layers) {
      const auto n = static_cast<double>(x.n);
      const double m =
          algorithm == 4
              ? 1
              : std::pow(std::ceil(static_cast<double>(x.p) / static_cast<double>(33 - x.f)), 2);
      const auto c = static_cast<double>(x.c);
      const auto k = static_cast<double>(x.k);
      samples.push_back(
          {x, m * (2e-6 * n * c + 3e-8 * n * c * k + 4e-6 * n * k) + 1e-6 * c * k + 0.1});
    }
    const Layer asked = {64, 48, 32, 96, 32, 3, 1, 1};
    const double expected =
        (algorithm == 4 ? 1 : 4) * (2e-6 * 64 * 48 + 3e-8 * 64 * 48 * 96 + 4e-6 * 64 * 96) +
        1e-6 * 48 * 96 + 0.1;
    if (algorithm == 4) {
      const auto model = FftModel::Train(samples, Rules::kFixed);
      ASSERT_TRUE(model.ok());
      EXPECT_NEAR(*model->Predict(asked) / expected, 1, 1e-9);
      EXPECT_FALSE(model->Predict({64, 48, 300, 96, 300, 3, 1, 1}).has_value());
      EXPECT_FALSE(model->Predict({64, 48, 32, 96, 16, 3, 2, 1}).has_value());
    } else {
      const auto model = FftTilingModel::Train(samples, Rules::kFixed);
      ASSERT_TRUE(model.ok());
      EXPECT_NEAR(model->Predict(asked) / expected, 1, 1e-9);
      EXPECT_FALSE(FftTilingModel::Supports({64, 48, 64, 96, 31, 34, 1, 0}));
    }
  }
}

TEST(Polynomials, OtherOperatorsAreRecovered) {
  const std::vector<Layer> layers = SomeLayers(0, 13);
  const std::vector<Layer> asked = SomeLayers(0, 17);
  for (const auto& [terms, known] :
       std::vector<std::pair<std::vector<double> (*)(const Layer&, Rules), std::vector<double>>>{
           {&MaxPoolTerms, {1e-8, 2e-8, 3e-9, 0.01}},
           {&MaxPoolGradientTerms, {1e-8, 2e-8, 0.02}},
           {&PointwiseNarrowTerms, {1e-8, 2e-8, 3e-12, 0.01}},
           {&PointwiseWideTerms, {3e-12, 0.05}},
           {&LayoutTerms, {2e-8, 0.001}},
           {&Im2colTerms, {1e-9, 2e-9, 0.004}},
           {&WinogradTransformTerms, {1e-9, 2e-9, 3e-9, 0.004}}}) {
    const auto fit =
        FitPolynomial(terms, MakeTimes(terms, Rules::kFixed, known, layers), Rules::kFixed);
    ASSERT_TRUE(fit.ok());
    ExpectNear(fit->coefficients, known, "polynomial");
    for (const TimedLayer& x : MakeTimes(terms, Rules::kFixed, known, asked)) {
      EXPECT_NEAR(fit->Predict(x.layer) / x.time_ms, 1, 1e-9);
    }
  }
}

TEST(Polynomials, PointwiseConvolutionsHaveTwoHalves) {
  std::vector<Layer> narrow = {{1, 8, 9, 16, 9, 1, 1, 0}, {2, 8, 9, 128, 9, 1, 1, 0}};
  const auto model = PointwiseModel::Train(
      MakeTimes(&PointwiseNarrowTerms, Rules::kFixed, {0, 0, 1e-6, 0.1}, narrow), Rules::kFixed);
  ASSERT_TRUE(model.ok());

  EXPECT_TRUE(model->Predict(narrow[0]).has_value());
  EXPECT_FALSE(model->Predict({1, 8, 9, 129, 9, 1, 1, 0}).has_value());
}

TEST(Gradients, RatiosAreLearntByShape) {
  std::vector<GradientSample> samples;
  for (const Layer& x : SomeLayers(0, 31)) samples.push_back({x, 2.0, x.c < 40 ? 6.0 : 3.0});

  const auto model = GradientModel::Train(samples, 1);

  ASSERT_TRUE(model.ok());
  EXPECT_NEAR(model->Predict({128, 16, 40, 64, 38, 3, 1, 0}, 5), 15, 1e-9);
  EXPECT_NEAR(model->Predict({128, 512, 40, 64, 38, 3, 1, 0}, 5), 7.5, 1e-9);
}

TEST(TransformTime, AsPublishedTheDataIsCountedThreeTimesAndTheLastRepeatsNever) {
  const TransformTimes times = {{1, 1, 1, 1, 9}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}};

  EXPECT_DOUBLE_EQ(TransformTime(times, Rules::kAsPublished), 3);
  EXPECT_DOUBLE_EQ(TransformTime(times, Rules::kFixed), 13.0 / 5 + 5);
}

TrainingData DataOfTwoAlgorithms() {
  TrainingData data;
  KnownKernel slow;
  slow.compute = {9e-9, 0.1};
  slow.dram = {9e-8, 0.1};
  slow.under_utilised = {9e-8, 9e-9, 0.3, 9e-8};
  data.kernels["algo0_32x32"] =
      MakeRecords(*FindVariant("algo0_32x32"), slow, SomeLayers(0, 23), 0, 1);
  for (const std::string name : {"algo7_128x64_3x3", "algo7_128x64_5x5"}) {
    data.kernels[name] = MakeRecords(*FindVariant(name), {}, SomeLayers(7, 13), 0, 2);
  }
  return data;
}

TEST(SeerModel, PicksTheQuickestOfThoseThatAreSupported) {
  const auto model = SeerModel::Train(DataOfTwoAlgorithms(), 1, Rules::kFixed);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const Layer winograd = {128, 64, 100, 64, 100, 3, 1, 1};
  const Layer strided = {128, 64, 100, 64, 50, 3, 2, 1};

  EXPECT_EQ(model->Pick(winograd), 7);
  EXPECT_EQ(model->Pick(strided), 0);
  EXPECT_FALSE(model->Predict(strided, 7).is_supported);
  EXPECT_FALSE(model->Predict(winograd, 3).is_supported);
  EXPECT_FALSE(model->Predict(winograd, 4).is_supported);
  EXPECT_EQ(model->Predict(winograd, 7).variant, "algo7_128x64_3x3");
}

TEST(SeerModel, AsPublishedWhatIsNotSupportedHasAPenalty) {
  const auto model = SeerModel::Train(DataOfTwoAlgorithms(), 1, Rules::kAsPublished);
  ASSERT_TRUE(model.ok());
  const Layer strided = {128, 64, 100, 64, 50, 3, 2, 1};

  EXPECT_EQ(model->Predict(strided, 7).time_ms, 200000);
  EXPECT_EQ(model->Predict(strided, 3).time_ms, 100000);
  EXPECT_EQ(model->Predict(strided, 4).time_ms, 10000);
  EXPECT_EQ(model->Pick(strided), 0);
}

TEST(SeerModel, NothingTrainedPicksNothingAndAnUnknownVariantIsRefused) {
  const auto empty = SeerModel::Train({}, 1, Rules::kFixed);
  ASSERT_TRUE(empty.ok());
  TrainingData data;
  data.kernels["algo9"] = {};

  EXPECT_EQ(empty->Pick({1, 1, 9, 1, 9, 1, 1, 0}), -1);
  EXPECT_EQ(SeerModel::Train(data, 1, Rules::kFixed).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST(Evaluation, APickThatIsNotSupportedIsWrongUnlessPublished) {
  AlgorithmTimes times;
  times.times_ms = {2.0, 2.1, 2.3, -1, -1, -1, -1, -1};

  EXPECT_FALSE(IsWrongPick(times, 1, Rules::kFixed));
  EXPECT_TRUE(IsWrongPick(times, 2, Rules::kFixed));
  EXPECT_TRUE(IsWrongPick(times, 4, Rules::kFixed));
  EXPECT_FALSE(IsWrongPick(times, 4, Rules::kAsPublished));
}

TEST(Evaluation, BothTestSetsAreFreeOfErrorOnWhatWasLearnt) {
  const TrainingData data = DataOfTwoAlgorithms();
  const auto model = SeerModel::Train(data, 1, Rules::kFixed);
  ASSERT_TRUE(model.ok());

  const auto kernels = EvaluateKernels(*model, data.kernels);

  EXPECT_LT(kernels.at("total").RmspePercent(), 1e-6);
  EXPECT_EQ(kernels.at("algo7").count + kernels.at("algo0").count, kernels.at("total").count);

  std::vector<AlgorithmTimes> measured;
  for (const KernelRecord& x : data.kernels.at("algo0_32x32")) {
    AlgorithmTimes times;
    times.layer = x.layer;
    times.times_ms.fill(-1);
    times.times_ms[0] = x.time_ms;
    const AlgorithmPrediction winograd = model->Predict(x.layer, 7);
    if (winograd.is_supported) times.times_ms[7] = winograd.time_ms;
    times.vendor_pick = 1;
    measured.push_back(times);
  }
  EXPECT_LT(EvaluateLayers(*model, measured).RmspePercent(), 1e-6);
  const PickErrors picks = EvaluatePicks(*model, measured);
  EXPECT_EQ(picks.wrong, 0u);
  EXPECT_EQ(picks.vendor_wrong, picks.layers);
}

TEST(Evaluation, ANetworkIsCountedByTheClassesOfItsPicks) {
  const auto model = SeerModel::Train(DataOfTwoAlgorithms(), 1, Rules::kFixed);
  ASSERT_TRUE(model.ok());
  const std::vector<Layer> layers = {{128, 3, 100, 64, 50, 3, 2, 1},
                                     {128, 64, 40, 64, 20, 3, 2, 1},
                                     {128, 64, 160, 64, 80, 3, 2, 1},
                                     {128, 512, 160, 64, 80, 3, 2, 1}};

  EXPECT_THAT(ClassesOfNetwork(*model, layers), ::testing::ElementsAre(2, 1, 1));
}

}  // namespace
}  // namespace attune::seer
