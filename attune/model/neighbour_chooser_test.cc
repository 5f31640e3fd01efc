// Choosing by neighbours: trials nearby count, and so does their absence.
#include "attune/model/neighbour_chooser.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/model/sample_times.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A problem of that size. Everything but the features of the operation is left out.
FeatureRow ChooserRow(double size) { return {"", {1, size, size, 1}, {}}; }

// `algorithm` takes `factor` times size / 1000 ms.
Sample TimedFor(double size, const std::string& algorithm, double factor) {
  Sample sample;
  sample.row = ChooserRow(size);
  sample.row.algorithm = algorithm;
  sample.time_ms = factor * size / 1000;
  sample.configuration = static_cast<uint64_t>(size);
  return sample;
}

NeighbourChooser FittedChooser(const std::vector<Sample>& samples) {
  auto chooser = NeighbourChooser::Make(SampleFeatures());
  EXPECT_TRUE(chooser.ok() && chooser->Fit(samples).ok());
  return *std::move(chooser);
}

std::vector<std::string> NamesAt(const NeighbourChooser& chooser, double size) {
  std::vector<std::string> names;
  for (const auto& proposal : chooser.Propose(ChooserRow(size))) {
    names.push_back(chooser.algorithms()[proposal.algorithm]);
  }
  return names;
}

// "usual" everywhere; "small" is quicker on small problems, and "great" on a single large one.
std::vector<Sample> TimesOfTuning() {
  std::vector<Sample> samples;
  for (int i = 0; i < 20; ++i) {
    const double small = std::exp2(1 + i / 20.0);
    const double large = std::exp2(15 + i / 20.0);
    samples.push_back(TimedFor(small, "usual", 1.5));
    samples.push_back(TimedFor(small, "small", 1));
    samples.push_back(TimedFor(large, "usual", 1.5));
  }
  samples.push_back(TimedFor(std::exp2(15), "great", 1));
  return samples;
}

TEST(NeighbourChooser, ChoosesWhoWasQuickestNear) {
  EXPECT_EQ(NamesAt(FittedChooser(TimesOfTuning()), std::exp2(1.42)).front(), "small");
}

// Its predicted time would be less than that of "usual".
TEST(NeighbourChooser, LeavesAloneWhoWasNotTriedNear) {
  EXPECT_THAT(NamesAt(FittedChooser(TimesOfTuning()), std::exp2(15.8)), ElementsAre("usual"));
}

TEST(NeighbourChooser, PutsWhoWasTriedForFewOfTheNeighboursBehind) {
  // "great" is the best of the one neighbour of eight that it was tried for. That gain is smaller
  // than the loss at all the others.
  EXPECT_EQ(NamesAt(FittedChooser(TimesOfTuning()), std::exp2(15.17)).front(), "usual");
  // The one time of the problem itself outweighs all neighbours.
  EXPECT_EQ(NamesAt(FittedChooser(TimesOfTuning()), std::exp2(15)).front(), "great");
}

TEST(NeighbourChooser, ExpectsTimesInProportionToTheBest) {
  const NeighbourChooser chooser = FittedChooser(TimesOfTuning());

  const auto proposals = chooser.Propose(ChooserRow(std::exp2(1.5)));

  ASSERT_EQ(proposals.size(), 2u);
  EXPECT_NEAR(proposals[0].time_ms, std::exp2(1.5) / 1000, 0.1 * proposals[0].time_ms);
  EXPECT_NEAR(proposals[1].time_ms / proposals[0].time_ms, 1.5, 1e-9);
  for (const auto& proposal : proposals) EXPECT_GE(proposal.high_ms, proposal.time_ms);
}

TEST(NeighbourChooser, ReadsBackAsTheSame) {
  const NeighbourChooser chooser = FittedChooser(TimesOfTuning());
  std::string text;
  chooser.AppendText(text);

  ModelLines lines(text);
  const auto read = NeighbourChooser::ReadFrom(lines, SampleFeatures());

  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(lines.AtEnd());
  std::string again;
  read->AppendText(again);
  EXPECT_EQ(again, text);
  EXPECT_EQ(NamesAt(*read, 1000), NamesAt(chooser, 1000));
}

TEST(NeighbourChooser, RefusesTrialsOfAlgorithmsThatAreNotThere) {
  std::string text;
  FittedChooser(TimesOfTuning()).AppendText(text);
  for (const char* wrong : {"t 3 0x0p+0", "t 0 -0x1p+0", "t 0 0x1p+20", "t 0", "t x 0x0p+0"}) {
    std::string changed = text;
    const size_t at = changed.find("\nt ") + 1;
    changed.replace(at, changed.find('\n', at) - at, wrong);
    ModelLines lines(changed);
    const auto read = NeighbourChooser::ReadFrom(lines, SampleFeatures());
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_THAT(read.status().message(), HasSubstr("Line ")) << wrong;
  }
}

TEST(NeighbourChooser, OfNoSamplesNothingIsLearnt) {
  auto chooser = NeighbourChooser::Make(SampleFeatures());
  ASSERT_TRUE(chooser.ok());
  EXPECT_EQ(chooser->Fit({}).code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace attune
