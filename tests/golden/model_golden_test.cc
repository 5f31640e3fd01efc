// Files of models of time, against the golden ones.
#include <gtest/gtest.h>

#include "attune/model/model_file.h"
#include "attune/model/shape_features.h"
#include "extensions/models/seer/seer_file.h"
#include "tests/golden/golden_file.h"

namespace attune {
namespace {

TEST(ModelGoldenTest, ModelsAreReadAndWrittenAsEver) {
  const std::string text = GoldenText("model_v4.txt");
  const auto header = ReadModelHeader(text);
  ASSERT_TRUE(header.ok()) << header.status().message();

  const auto model = ReadModel(text, header->origin, *ShapeFeatures("gemm"));

  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_NE(model->chooser(), nullptr);
  EXPECT_TRUE(
      IsGolden("model_v4.txt", *ModelText(*model, header->origin, header->samples), "model.md"));
}

TEST(ModelGoldenTest, ModelsOfTheVersionBeforeHaveNoChooser) {
  const std::string text = GoldenText("model_v3.txt");
  const auto header = ReadModelHeader(text);
  ASSERT_TRUE(header.ok()) << header.status().message();

  const auto model = ReadModel(text, header->origin, *ShapeFeatures("gemm"));

  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->samples(), 6u);
  EXPECT_EQ(model->chooser(), nullptr);
}

TEST(ModelGoldenTest, SeerModelsAreReadAndWrittenAsEver) {
  const auto file = seer::ReadSeerFile(GoldenText("seer_v1.txt"));

  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(IsGolden("seer_v1.txt", *seer::SeerText(*file), "seer.md"));
}

}  // namespace
}  // namespace attune
