#include "extensions/models/seer/operator_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/models/seer/evaluation.h"
#include "extensions/models/seer/synthetic.h"
#include "extensions/models/seer/training_tables.h"

namespace attune::seer {
namespace {

using ::testing::HasSubstr;

std::vector<Layer> FewLayers() {
  std::vector<Layer> layers;
  for (const int64_t c : {16, 64, 256, 512}) {
    for (const int64_t w : {14, 56, 112}) {
      for (const int64_t k : {32, 96, 160, 384}) layers.push_back({64, c, w, k, w, 1, 1, 0});
    }
  }
  return layers;
}

std::vector<OperatorTime> TimesOf(const std::string& name, Rules rules,
                                  std::vector<double> (*terms)(const Layer&, Rules),
                                  const std::vector<double>& coefficients) {
  std::vector<OperatorTime> times;
  for (const TimedLayer& x : MakeTimes(terms, rules, coefficients, FewLayers())) {
    times.push_back({name, x.layer, x.time_ms, 0});
  }
  return times;
}

TEST(OperatorTimes, ReadBackWhatWasWritten) {
  const std::vector<OperatorTime> times = {
      {"maxpool", {64, 64, 112, 64, 56, 2, 2, 0}, 0.7, 0},
      {"conv_grad_input", {128, 16, 40, 32, 38, 3, 1, 0}, 2.25, 1.125},
      {"algo7_128x64_3x3", {128, 16, 40, 32, 40, 3, 1, 1}, 0.5, 0}};

  const auto read = ReadOperatorTimes(Csv(times));

  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, times);
}

TEST(OperatorTimes, ErrorsNameTheLine) {
  const auto message = [](const std::string& line) {
    return ReadOperatorTimes("operator,N,C,W,K,P,f,s,p,time_ms\n" + line).status().message();
  };

  EXPECT_EQ(message("maxpool,1,1,2,1,1,2,2,0,3\n"), "");
  EXPECT_THAT(message("maxpol,1,1,2,1,1,2,2,0,3\n"), HasSubstr("Line 2: no operator is called"));
  EXPECT_THAT(message("algo0_32x32,1,1,2,1,1,2,2,0,3\n"), HasSubstr("no operator is called"));
  EXPECT_THAT(message("maxpool,1,1,2,1,1,2,2,0\n"), HasSubstr("9 columns"));
  EXPECT_THAT(message("maxpool,1,1,2,1,2,2,2,0,3\n"), HasSubstr("the output is 1 wide"));
  EXPECT_THAT(message("maxpool,1,1,2,1,1,2,2,0,-1\n"), HasSubstr("not above 0"));
  EXPECT_THAT(message("maxpool,1,1,2,1,1,2,2,0,3,2\n"), HasSubstr("forward time"));
  EXPECT_THAT(message("conv_grad_input,1,1,2,1,1,2,2,0,3\n"), HasSubstr("forward time"));
}

TEST(OperatorModels, EachOperatorIsPredictedByItsOwnTermsAndHasNoErrorOnThem) {
  std::vector<OperatorTime> times =
      TimesOf("maxpool", Rules::kFixed, &MaxPoolTerms, {1e-8, 2e-8, 3e-8, 0.01});
  const auto pointwise = TimesOf("conv1x1", Rules::kFixed, &PointwiseWideTerms, {1e-9, 0.02});
  times.insert(times.end(), pointwise.begin(), pointwise.end());
  for (const Layer& x : FewLayers()) {
    times.push_back({"conv_grad_filter", x, x.c < 100 ? 3.0 : 2.0, 1});
    times.push_back({"im2col", x, 1, 0});
  }

  const auto models = OperatorModels::Train(times, 1, Rules::kFixed);

  ASSERT_TRUE(models.ok()) << models.status().message();
  EXPECT_THAT(models->names(), ::testing::ElementsAre("maxpool", "conv1x1", "conv_grad_filter"));
  const auto errors = EvaluateOperators(*models, times);
  EXPECT_EQ(errors.size(), 3u);
  EXPECT_LT(errors.at("maxpool").RmspePercent(), 1e-6);
  EXPECT_LT(errors.at("conv_grad_filter").RmspePercent(), 1e-6);
  EXPECT_EQ(models->Predict("layout", FewLayers()[0], 0), std::nullopt);
}

TEST(TrainingTables, EveryRecordIsLearntHeldOutOrCounted) {
  std::vector<Layer> layers = TrainingGrid(0);
  layers.resize(200);
  std::vector<KernelRecord> records;
  for (const Variant& variant : Variants()) {
    if (variant.algorithm > 1) continue;
    const auto made = MakeRecords(variant, {}, layers, 0, 1);
    records.insert(records.end(), made.begin(), made.end());
  }
  KernelRecord direct = records[0];
  direct.algorithm = 3;
  records.push_back(direct);
  KernelRecord fft = records[0];
  fft.algorithm = 4;
  records.insert(records.end(), 20, fft);

  const SortedRecords sorted = SortRecords(records, kTitanXpProcessors, Rules::kFixed);
  const SortedSplit split = HoldOut(sorted, Rules::kFixed);

  size_t learnt = split.learnt.fft.size() + split.learnt.fft_tiling.size();
  for (const auto& [name, own] : split.learnt.kernels) learnt += own.size();
  EXPECT_EQ(learnt + split.held_out.size() + sorted.ambiguous + sorted.unknown, records.size());
  EXPECT_EQ(split.learnt.fft.size(), 14u);
  EXPECT_GT(sorted.unknown, 0u);
}

TEST(TrainingTables, FftsArePublishedInTheOrderOfTheirTable) {
  std::vector<KernelRecord> records(20);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].layer = {128, 3, 32, 3, 32, 1, 1, 0};
    records[i].algorithm = 5;
    records[i].time_ms = 100.0 - static_cast<double>(i);
    records[i].blocks = records[i].resident_blocks = 1;
  }
  records[3].layer.w = records[3].layer.p = 64;

  const SortedRecords sorted = SortRecords(records, kTitanXpProcessors, Rules::kAsPublished);
  const SortedSplit split = HoldOut(sorted, Rules::kAsPublished);

  EXPECT_EQ(split.learnt.fft_tiling.size(), 14u);
  EXPECT_EQ(split.held_out.front().time_ms, 93);
  EXPECT_EQ(TrainingDataOf(sorted, {}, Rules::kAsPublished).fft_classes.size(), 19u);
  EXPECT_EQ(TrainingDataOf(sorted, {}, Rules::kFixed).fft_classes.size(), 20u);
}

}  // namespace
}  // namespace attune::seer
