#include "extensions/models/seer/seer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extensions/models/seer/synthetic.h"
#include "extensions/models/seer/training_tables.h"

namespace attune::seer {
namespace {

using ::testing::HasSubstr;

SeerFile TrainedOnEverything(Rules rules) {
  TrainingData data;
  std::vector<OperatorTime> operators;
  for (const Variant& variant : Variants()) {
    const std::vector<Layer> all = TrainingGrid(variant.algorithm);
    std::vector<Layer> some;
    for (size_t i = 0; i < all.size(); i += 37) some.push_back(all[i]);
    data.kernels[std::string(variant.name)] = MakeRecords(variant, {}, some, 0.1, 1);
    if (variant.algorithm != 7) continue;
    data.transforms[std::string(variant.name)] =
        MakeTimes(&WinogradTransformTerms, rules, {1e-7, 1e-7, 1e-7, 0.1}, some);
  }
  std::vector<TimedLayer> ffts;
  for (const Layer& x : TrainingGrid(4)) ffts.push_back({x, 1 + static_cast<double>(x.c)});
  data.fft = data.fft_tiling = ffts;
  data.fft_classes = data.kernels["algo0_32x32"];
  data.im2col = MakeTimes(&Im2colTerms, rules, {1e-8, 1e-8, 0.1}, TrainingGrid(0));
  for (const Layer& x : TrainingGrid(7)) {
    operators.push_back({"layout", x, 1e-9 * static_cast<double>(x.c * x.w * x.w) + 1, 0});
    operators.push_back({"conv1x1", x, 1 + static_cast<double>(x.k), 0});
    operators.push_back({"conv_grad_input", x, 2, 1});
  }
  return {"NVIDIA TITAN Xp", kTitanXpProcessors, *SeerModel::Train(data, 1, rules),
          *OperatorModels::Train(operators, 1, rules)};
}

TEST(SeerFile, ReadsBackToTheSameFileAndTheSamePredictions) {
  for (const Rules rules : {Rules::kFixed, Rules::kAsPublished}) {
    const SeerFile file = TrainedOnEverything(rules);
    const auto text = SeerText(file);
    ASSERT_TRUE(text.ok());

    const auto read = ReadSeerFile(*text);

    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*SeerText(*read), *text);
    EXPECT_EQ(read->device, file.device);
    for (const Layer& layer : TrainingGrid(7)) {
      for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
        const AlgorithmPrediction before = file.model.Predict(layer, algorithm);
        const AlgorithmPrediction after = read->model.Predict(layer, algorithm);
        ASSERT_EQ(before.time_ms, after.time_ms) << algorithm;
        ASSERT_EQ(before.kernel_class, after.kernel_class) << algorithm;
      }
    }
  }
}

// The text without its seal, changed, and sealed again.
std::string Resealed(std::string text, std::string_view from, std::string_view to) {
  text.resize(text.rfind("seal "));
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  AppendSeal(text);
  return text;
}

TEST(SeerFile, WhatIsDamagedOrLeadsAstrayIsRefusedWithItsLine) {
  const std::string text = *SeerText(TrainedOnEverything(Rules::kFixed));
  const auto message = [&](std::string_view from, std::string_view to) {
    const auto read = ReadSeerFile(Resealed(text, from, to));
    return read.ok() ? "" : read.status().message();
  };

  EXPECT_THAT(message("attune_seer 1", "attune_seer 2"), HasSubstr("train it again"));
  EXPECT_THAT(message("rules fixed", "rules broken"), HasSubstr("Line 4: no rules"));
  EXPECT_THAT(message("variant algo0_128x128", "variant algo9"), HasSubstr("Line 6"));
  EXPECT_THAT(message("variant algo0_32x32", "variant algo0_128x128"), HasSubstr("twice"));
  EXPECT_THAT(message("of algo7_128x64_3x3", "of algo7_128x128_3x3"), HasSubstr("twice"));
  EXPECT_THAT(message("tree 0:1:", "tree 0:0:"), HasSubstr("no node"));
  EXPECT_THAT(message("tree 0:1:", "tree 9:1:"), HasSubstr("leads nowhere"));
  EXPECT_THAT(message("tree 0:1:", "tree 0:999999:"), HasSubstr("leads nowhere"));
  EXPECT_THAT(message("=0x1p+0", "=0x1p+9"), HasSubstr("of no class"));
  EXPECT_THAT(message("operator layout", "operator of mine"), HasSubstr("no operator"));
  EXPECT_THAT(ReadSeerFile(text.substr(0, text.size() / 2)).status().message(), HasSubstr("seal"));
  EXPECT_EQ(ReadSeerFile("").status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace attune::seer
