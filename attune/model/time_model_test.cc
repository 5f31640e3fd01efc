#include "attune/model/time_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/model/folds.h"
#include "attune/model/model_file.h"
#include "attune/model/model_text.h"
#include "attune/model/sample_times.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ModelOrigin kOrigin = {"NVIDIA H200", "cudnn 9.19.0"};

TimeModel Fitted(const std::vector<Sample>& samples) {
  auto model = TimeModel::Standard(SampleFeatures(), {});
  EXPECT_TRUE(model.ok() && model->Fit(samples).ok());
  return *std::move(model);
}

std::vector<Prediction> PredictAll(const TimeModel& model, const std::vector<Sample>& samples) {
  std::vector<FeatureRow> rows;
  for (const Sample& sample : samples) rows.push_back(sample.row);
  std::vector<Prediction> predictions(rows.size());
  model.Predict(rows, predictions);
  return predictions;
}

TEST(FoldsByConfiguration, NoConfigurationIsOnBothSides) {
  const std::vector<Sample> samples = SampleTimes(23, 0, 1);

  const std::vector<size_t> folds = FoldsByConfiguration(samples, 5, 7);

  std::vector<int> sizes(5, 0);
  for (size_t i = 0; i < samples.size(); i += 2) {
    EXPECT_EQ(folds[i], folds[i + 1]);
    ++sizes[folds[i]];
  }
  for (const int size : sizes) EXPECT_GE(size, 4);
  EXPECT_EQ(folds, FoldsByConfiguration(samples, 5, 7));
  EXPECT_NE(folds, FoldsByConfiguration(samples, 5, 8));
}

TEST(TimeModel, ChoosesTheSumWhereTimesAreSums) {
  const TimeModel model = Fitted(SampleTimes(80, 0, 1));

  EXPECT_EQ(model.ChosenFor("a"), "nnls");
  EXPECT_EQ(model.ChosenFor("never seen"), "nnls");
}

TEST(TimeModel, IntervalsHoldNineOfTenAndAreWiderForKernelsNeverSeen) {
  const TimeModel model = Fitted(SampleTimes(150, 0.2, 2));
  const std::vector<Sample> unseen = SampleTimes(200, 0.2, 3);

  const std::vector<Prediction> predictions = PredictAll(model, unseen);

  int inside = 0;
  for (size_t i = 0; i < unseen.size(); ++i) {
    EXPECT_LE(predictions[i].low_ms, predictions[i].median_ms);
    EXPECT_GE(predictions[i].high_ms, predictions[i].median_ms);
    const double time_ms = unseen[i].time_ms;
    inside += predictions[i].low_ms <= time_ms && time_ms <= predictions[i].high_ms ? 1 : 0;
  }
  EXPECT_NEAR(inside / 400.0, 0.9, 0.07);

  std::vector<Sample> strange = {unseen[0]};
  strange[0].row.kernels[0].signature = "never seen";
  const Prediction wide = PredictAll(model, strange)[0];
  EXPECT_NEAR(
      std::log(wide.high_ms / wide.low_ms),
      TimeModel::kWiderWhenUnseen * std::log(predictions[0].high_ms / predictions[0].low_ms), 1e-9);
}

TEST(TimeModel, AskedAboutAllAlgorithmsAtOnceEachIsAsAlone) {
  std::vector<Sample> samples = SampleTimes(100, 0.3, 7);
  // By one way a step that sums cannot have, so that the choices differ.
  for (Sample& sample : samples) {
    if (sample.row.algorithm == "b" && sample.row.values[3] > 3) sample.time_ms *= 9;
  }
  const TimeModel model = Fitted(samples);
  ASSERT_NE(model.ChosenFor("a"), model.ChosenFor("b"));
  const std::vector<std::string_view> algorithms = {"b", "a", "never seen"};
  for (const Sample& sample : SampleTimes(10, 0.3, 8)) {
    std::vector<Prediction> each(algorithms.size());
    model.PredictEach(sample.row, algorithms, each);
    std::vector<Sample> alone(algorithms.size(), sample);
    for (size_t i = 0; i < algorithms.size(); ++i) alone[i].row.algorithm = algorithms[i];
    EXPECT_EQ(each, PredictAll(model, alone));
  }
}

// "usual" is timed for all problems. Each of eight others is quicker than it, and was timed only
// for the sizes that it is made for: the quickest of them by far from here is of no use there.
std::vector<Sample> TriedInPlaces() {
  Random random(3);
  std::vector<Sample> samples;
  for (uint64_t i = 0; i < 80; ++i) {
    const double part = 8 * random.Uniform();
    const double size = std::exp2(4 + 2 * part);
    const auto add = [&](const std::string& algorithm, double factor) {
      Sample sample;
      sample.row = {algorithm, {1, size, size, 1}, {}};
      sample.time_ms = factor * size / 1000;
      sample.configuration = i;
      samples.push_back(std::move(sample));
    };
    add("usual", 1);
    add(std::to_string(static_cast<int>(part)), 0.5 + 0.05 * std::floor(part));
  }
  return samples;
}

TEST(TimeModel, ChoosesByNeighboursWhereMostWereNeverTried) {
  auto model = TimeModel::Standard(SampleFeatures(), {});
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE(model->Fit(TriedInPlaces()).ok());
  EXPECT_EQ(model->chooser(), nullptr) << "Nobody asked for it.";

  model->MayChooseByNeighbours();
  ASSERT_TRUE(model->Fit(TriedInPlaces()).ok());

  ASSERT_NE(model->chooser(), nullptr);
  const auto text = ModelText(*model, kOrigin, {});
  const auto read = ReadModel(*text, kOrigin, SampleFeatures());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_NE(read->chooser(), nullptr);
  EXPECT_EQ(*ModelText(*read, kOrigin, {}), *text);
}

// Sums rank candidates right for every problem; neighbours far from it do not.
TEST(TimeModel, ChoosesByPredictedTimesWhereTheyAreRight) {
  std::vector<Sample> samples = SampleTimes(60, 0, 1);
  for (Sample& sample : samples) {
    sample.row.kernels.clear();
    sample.kernel_times_ms.clear();
    // "a" has the launch that "b" does without, which is slower by the byte.
    sample.time_ms = sample.row.algorithm == "a" ? 0.05 + sample.row.values[2] / 1000
                                                 : sample.row.values[2] / 500;
  }
  auto model = TimeModel::Standard(SampleFeatures(), {});
  ASSERT_TRUE(model.ok());
  model->MayChooseByNeighbours();

  ASSERT_TRUE(model->Fit(samples).ok());

  EXPECT_EQ(model->chooser(), nullptr);
}

TEST(TimeModel, OneConfigurationIsTooFew) {
  auto model = TimeModel::Standard(SampleFeatures(), {});
  ASSERT_TRUE(model.ok());

  EXPECT_EQ(model->Fit(SampleTimes(1, 0, 1)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(model->Fit({}).code(), StatusCode::kFailedPrecondition);
}

TEST(ModelFile, ReadsBackAsTheSameModel) {
  const std::vector<Sample> samples = SampleTimes(80, 0.1, 4);
  const TimeModel model = Fitted(samples);
  const auto text = ModelText(model, kOrigin, FingerprintOf(std::span<const Sample>(samples)));
  ASSERT_TRUE(text.ok());

  const auto read = ReadModel(*text, kOrigin, SampleFeatures());

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(PredictAll(*read, samples), PredictAll(model, samples));
  EXPECT_EQ(*ModelText(*read, kOrigin, FingerprintOf(std::span<const Sample>(samples))), *text);
  EXPECT_EQ(ReadModelHeader(*text)->origin, kOrigin);
}

// Features are most of a file, and those of one configuration are the same for all its algorithms.
TEST(ModelFile, HasTheFeaturesOfAConfigurationOnce) {
  const std::vector<Sample> samples = SampleTimes(30, 0.1, 5);
  const auto text = ModelText(Fitted(samples), kOrigin, {});
  ASSERT_TRUE(text.ok());
  const auto count = [&](std::string_view keyword) {
    size_t found = 0;
    for (size_t at = 0; (at = text->find(keyword, at)) != std::string::npos; ++at) ++found;
    return found;
  };

  EXPECT_EQ(count("\nat "), 30u);
  EXPECT_EQ(count("\np "), 2 * samples.size());
}

TEST(TimeModel, AnAlgorithmOfFewConfigurationsIsKnownAndTakesWhatWasChosenOverAll) {
  std::vector<Sample> samples = SampleTimes(80, 0, 1);
  // One sample of each of five configurations, and both of each of four.
  for (size_t i = 0; i < 10; i += 2) samples[i].row.algorithm = "few";
  for (size_t i = 10; i < 18; ++i) samples[i].row.algorithm = "often";
  const TimeModel model = Fitted(samples);

  EXPECT_THAT(model.algorithms(), ElementsAre("a", "b", "few"));
  EXPECT_EQ(model.ChosenFor("few"), model.ChosenFor("never seen"));
}

TEST(ModelFile, AModelThatDoesNotFitIsRefusedWithAReason) {
  const std::vector<Sample> samples = SampleTimes(30, 0.1, 5);
  const auto text = ModelText(Fitted(samples), kOrigin, {});
  ASSERT_TRUE(text.ok());
  FeatureSet others = SampleFeatures();
  others.kernel[1] = "waves";

  EXPECT_THAT(
      ReadModel(*text, {"NVIDIA H100", kOrigin.library}, SampleFeatures()).status().message(),
      HasSubstr("'NVIDIA H200', and 'NVIDIA H100'"));
  EXPECT_THAT(
      ReadModel(*text, {kOrigin.device, "cudnn 9.20.0"}, SampleFeatures()).status().message(),
      HasSubstr("cudnn 9.20.0"));
  EXPECT_EQ(ReadModel(*text, kOrigin, others).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(ReadModel("attune_model 5\n" + *text, kOrigin, SampleFeatures()).status().message(),
              HasSubstr("versions 3 to 4"));
  EXPECT_FALSE(ModelText(Fitted(samples), {"two\nlines", ""}, {}).ok());
}

TEST(ModelFile, AMemberOfAnotherVersionIsRefusedWithAReason) {
  const auto text = ModelText(Fitted(SampleTimes(30, 0.1, 5)), kOrigin, {});
  ASSERT_TRUE(text.ok());
  std::string other = text->substr(0, text->rfind("seal "));
  const std::string_view member = "member nnls";
  other.replace(other.find(member), member.size(), "member choice");
  AppendSeal(other);

  const Status status = ReadModel(other, kOrigin, SampleFeatures()).status();

  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("'choice', which this program does not know"));
}

TEST(ModelFile, NoCutAndNoChangedByteIsBelieved) {
  const std::vector<Sample> samples = SampleTimes(12, 0.1, 6);
  const auto text = ModelText(Fitted(samples), kOrigin, {});
  ASSERT_TRUE(text.ok());
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const size_t at = random.Below(text->size());
    EXPECT_FALSE(ReadModel(text->substr(0, at), kOrigin, SampleFeatures()).ok()) << at;
    std::string changed = *text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(ReadModel(changed, kOrigin, SampleFeatures()).ok()) << at;
  }
}

}  // namespace
}  // namespace attune
