// Models that a run time finds, follows and refuses.
#include "runtime/model_predictor.h"

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/index/fitting.h"
#include "attune/index/model_origin.h"
#include "attune/index/timed_products.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ModelOrigin kOrigin = {"host:A:x86-64-v3:2{isa=none}", "openblas 0.3.21"};
constexpr const char* kQuick = "host.a@1{threads=1}";
constexpr const char* kSlow = "host.b@1{}";

class ModelPredictorTest : public ::testing::Test {
 protected:
  void Write(const std::filesystem::path& path, const std::string& quick, const std::string& slow,
             const ModelOrigin& origin = kOrigin) {
    const auto data = SamplesOf(TimedProducts(24, {{quick, 1}, {slow, 2}}), "gemm");
    const auto model = FitUsual(data->features, data->samples);
    ASSERT_TRUE(model.ok());
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(WriteFileAtomically(path, *ModelText(*model, origin, {})).ok());
    // Files that are written within one tick of the clock look the same.
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(++writes_));
  }
  std::filesystem::path PathOfDatabase() const { return ModelPathOf(database_, kOrigin, "gemm"); }
  static std::vector<std::string> Predicted(const ModelPredictor& predictor, size_t limit = 64,
                                            const std::string& standing = kQuick) {
    std::vector<std::string> texts;
    const auto all = [](const Candidate&) { return true; };
    const Problem problem = Normalized(PackedGemm(999, 999, 999));
    for (const auto& each : predictor.Predict(problem, *ParseCandidate(standing), all, limit)) {
      texts.push_back(Text(each.candidate));
    }
    return texts;
  }

  const TemporaryFolder folder_;
  const std::string database_ = (folder_.path() / "attune.db").string();
  int writes_ = 0;
};

TEST_F(ModelPredictorTest, TheModelBesideTheDatabasePredictsQuickestFirst) {
  Write(PathOfDatabase(), kSlow, kQuick);

  const ModelPredictor predictor({database_, {}}, kOrigin);

  EXPECT_THAT(Predicted(predictor), ElementsAre(kSlow, kQuick));
  EXPECT_THAT(predictor.notes(), IsEmpty());
  EXPECT_THAT(predictor.Predict(
                  Conv{}, *ParseCandidate(kQuick), [](const Candidate&) { return true; }, 64),
              IsEmpty());
}

TEST_F(ModelPredictorTest, WhatIsComparedWithIsPredictedHoweverFewMayBe) {
  Write(PathOfDatabase(), kSlow, kQuick);

  const ModelPredictor predictor({database_, {}}, kOrigin);

  EXPECT_THAT(Predicted(predictor, 1, kQuick), ElementsAre(kQuick));
  EXPECT_THAT(Predicted(predictor, 1, kSlow), ElementsAre(kSlow));
  EXPECT_THAT(Predicted(predictor, 2, kSlow), ElementsAre(kSlow, kQuick));
  EXPECT_THAT(Predicted(predictor, 64, "host.c@1{}"), IsEmpty());
}

TEST_F(ModelPredictorTest, NoModelIsNoNews) {
  ModelPredictor predictor({database_, {}}, kOrigin);

  EXPECT_THAT(Predicted(predictor), IsEmpty());
  EXPECT_THAT(predictor.notes(), IsEmpty());
  EXPECT_FALSE(predictor.Update());
}

TEST_F(ModelPredictorTest, AModelThatIsReplacedIsReadAnewAndOneThatIsGoneIsForgotten) {
  ModelPredictor predictor({database_, {}}, kOrigin);
  Write(PathOfDatabase(), kQuick, kSlow);
  EXPECT_TRUE(predictor.Update());
  EXPECT_THAT(Predicted(predictor), ElementsAre(kQuick, kSlow));
  EXPECT_FALSE(predictor.Update());

  Write(PathOfDatabase(), kSlow, kQuick);
  EXPECT_TRUE(predictor.Update());
  EXPECT_THAT(Predicted(predictor), ElementsAre(kSlow, kQuick));

  std::filesystem::remove(PathOfDatabase());
  EXPECT_TRUE(predictor.Update());
  EXPECT_THAT(Predicted(predictor), IsEmpty());
  EXPECT_THAT(predictor.notes(), IsEmpty());
}

TEST_F(ModelPredictorTest, ANamedFileIsUsedInsteadAndRefusedWithAReasonWhereItDoesNotFit) {
  Write(PathOfDatabase(), kQuick, kSlow);
  const std::string named = (folder_.path() / "named.model").string();
  Write(named, kSlow, kQuick);

  EXPECT_THAT(Predicted(ModelPredictor({database_, {{named}}}, kOrigin)),
              ElementsAre(kSlow, kQuick));
  EXPECT_THAT(Predicted(ModelPredictor({database_, {{}}}, kOrigin)), IsEmpty());

  const ModelPredictor elsewhere({database_, {{named}}}, {"host:B:x", "openblas 0.3.21"});
  EXPECT_THAT(Predicted(elsewhere), IsEmpty());
  EXPECT_THAT(elsewhere.notes(), ElementsAre(HasSubstr("'host:B:x' is needed")));

  const ModelPredictor missing({database_, {{named + "x"}}}, kOrigin);
  EXPECT_THAT(missing.notes(), ElementsAre(HasSubstr("No such file")));
}

TEST_F(ModelPredictorTest, ADamagedModelIsRefusedAndWhatComesAfterItIsUsed) {
  Write(PathOfDatabase(), kQuick, kSlow);
  const std::string text = *ReadFile(PathOfDatabase());
  ASSERT_TRUE(WriteFileAtomically(PathOfDatabase(), text.substr(0, text.size() / 2)).ok());

  ModelPredictor predictor({database_, {}}, kOrigin);

  EXPECT_THAT(Predicted(predictor), IsEmpty());
  EXPECT_THAT(predictor.notes(), ElementsAre(HasSubstr("A model of time is not used: '")));
  Write(PathOfDatabase(), kQuick, kSlow);
  EXPECT_TRUE(predictor.Update());
  EXPECT_THAT(predictor.notes(), IsEmpty());
}

}  // namespace
}  // namespace attune
